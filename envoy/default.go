package envoy

// DefaultVersion is the version that a run uses unless another is asked for.
func DefaultVersion() (string, error) {
	c, err := readCatalog()
	if err != nil {
		return "", err
	}
	return c.Default, nil
}
