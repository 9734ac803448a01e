package xdstest

import (
	"os"
	"testing"

	"lab/envoy"
)

// binary is the Envoy that tests run: LAB_TEST_ENVOY, or the one that lab
// finds.
func binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("LAB_TEST_ENVOY"); path != "" {
		return path
	}
	b, err := envoy.Find(t.Context(), envoy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b.Path
}
