// Package snapshot reads the file in which a learner writes what Envoy shall
// have: the body of a DiscoveryResponse in YAML, all resource types together.
//
// It reads as Envoy reads its own files, so that a line means here what it
// means there: a YAML node tree is walked over the message descriptors, and
// what cannot become a message is a problem with file, line and column. What is
// a valid message passes, however wrong: Envoy judges it (and teaches a NACK).
//
// The package is pure. The bytes come in; it opens no file and no socket,
// starts nothing, and reads no clock.
package snapshot

//go:generate sh -c "go run ./internal/gentypes > types.gen.go.new && mv types.gen.go.new types.gen.go"

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Set is what one reading of the file gave. It is never changed after Load and
// may be shared by goroutines.
type Set struct {
	// Version is version_info, "" where the file gives none. Explicit tells
	// the two apart.
	Version  string
	Explicit bool
	// Resources are in file order.
	Resources []Resource
	// SHA256 is that of the file's bytes, in hex. It changes with a comment;
	// ContentHash does not.
	SHA256 string
}

// Resource is one resource of the file.
type Resource struct {
	Type    string // "CDS", "EDS", "LDS", "RDS", "SDS"; the type URL of any other
	TypeURL string // "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	Name    string
	Message proto.Message
	Hash    string // SHA-256 over the deterministic binary encoding, 16 hex digits
	Line    int    // where it starts in the file, from 1

	hidden bool // holds a value that must not be shown
}

// Body is the resource with proto field names, as plain values. A Secret has
// none (nil, without an error); of another resource that holds a private key or
// the like, what Envoy's config_dump would not show is left out.
func (r Resource) Body() (map[string]any, error) {
	if r.Type == "SDS" {
		return nil, nil
	}
	m := r.Message
	if r.hidden {
		m = redacted(m)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true, Resolver: resolver{}}.Marshal(m)
	if err != nil { // a valid message that has no JSON, such as a Duration out of range
		return plain(m.ProtoReflect()), nil
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, fmt.Errorf("%s %q as JSON: %w", r.Type, r.Name, err)
	}
	return body, nil
}

// ContentHash is equal for two sets of equal resources, whatever their order,
// comments, layout or version. In hex.
func (s *Set) ContentHash() string {
	lines := make([]string, 0, len(s.Resources))
	for _, r := range s.Resources {
		lines = append(lines, fmt.Sprintf("%q %q %s\n", r.TypeURL, r.Name, r.Hash))
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Find gives the resource of a type (short name or type URL) and name, or nil.
func (s *Set) Find(typ, name string) *Resource {
	for i := range s.Resources {
		r := &s.Resources[i]
		if r.Name == name && (r.Type == typ || r.TypeURL == typ) {
			return r
		}
	}
	return nil
}
