package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Change is one difference between two sets.
type Change struct {
	Type, Name string
	Kind       string        // "added", "removed", "changed"
	Fields     []FieldChange // of a changed resource; none where its values are hidden
}

// FieldChange is a field that differs. A list that grew or shrank in the middle
// shows as changes of all items behind it.
type FieldChange struct {
	Path     string // "circuit_breakers.thresholds[0].max_requests"
	Old, New any    // plain values of Body; nil where the field is missing
}

// Diff says how b differs from a, by type and name. Order, version and layout
// don't count. Equal sets give nil.
func Diff(a, b *Set) ([]Change, error) {
	var out []Change
	for _, r := range a.Resources {
		other := b.Find(r.TypeURL, r.Name)
		if other == nil {
			out = append(out, Change{Type: r.Type, Name: r.Name, Kind: "removed"})
			continue
		}
		if other.Hash == r.Hash {
			continue
		}
		before, err := r.Body()
		if err != nil {
			return nil, err
		}
		after, err := other.Body()
		if err != nil {
			return nil, err
		}
		c := Change{Type: r.Type, Name: r.Name, Kind: "changed"}
		if before != nil && after != nil {
			c.Fields = compareValues(nil, "", before, after)
		}
		out = append(out, c)
	}
	for _, r := range b.Resources {
		if a.Find(r.TypeURL, r.Name) == nil {
			out = append(out, Change{Type: r.Type, Name: r.Name, Kind: "added"})
		}
	}
	slices.SortStableFunc(out, func(x, y Change) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name, y.Name))
	})
	return out, nil
}

// compareValues adds the differences of two plain values, fields in the order
// of their names.
func compareValues(out []FieldChange, path string, a, b any) []FieldChange {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			at := k
			if path != "" {
				at = path + "." + k
			}
			out = compareValues(out, at, x[k], y[k])
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(x), len(y)) {
			out = compareValues(out, fmt.Sprintf("%s[%d]", path, i), item(x, i), item(y, i))
		}
		return out
	}
	if !reflect.DeepEqual(a, b) {
		out = append(out, FieldChange{path, a, b})
	}
	return out
}

// item is nil behind the end of the shorter list.
func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}
