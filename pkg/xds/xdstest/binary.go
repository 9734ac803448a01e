package xdstest

import (
	"os"
	"testing"
)

// binary is the Envoy that tests run: LAB_TEST_ENVOY, or the one of the
// machine.
func binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("LAB_TEST_ENVOY"); path != "" {
		return path
	}
	return "/tmp/envoy-1.40.0/envoy"
}
