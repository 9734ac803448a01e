package snapshot

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestTypes runs the generator again: a new release of the API must not leave
// types behind.
func TestTypes(t *testing.T) {
	cmd := exec.Command("go", "run", "./internal/gentypes")
	cmd.Stderr = os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("types.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("types.gen.go is stale: go generate ./pkg/snapshot")
	}
}
