package session

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"lab/pkg/journal"
	"lab/pkg/report"
	"lab/pkg/watch"
)

// sources adds to each rejection the line of the file that it is about: that of
// the field that changed, where it is one, else that of the resource. A file
// that was saved again since has other lines, so there is none then.
func (s *Session) sources(st report.Status) report.Status {
	if len(st.Rejected) == 0 {
		return st
	}
	raw, sum, err := watch.Read(s.folder.Snapshot())
	if err != nil {
		return st
	}
	lines := strings.Split(string(raw), "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range st.Rejected {
		r := &st.Rejected[i]
		snap := s.view.snapshots[r.Version]
		if snap == nil || snap.SHA256 != sum || r.Line < 1 || r.Line > len(lines) {
			continue
		}
		if at := fieldLine(lines, *r, snap, s.view.changedField(*r, snap)); at > 0 {
			r.Line = at
		}
		r.Source = lines[r.Line-1]
	}
	return st
}

// changedField names the field in which a resource differs from the one that
// Envoy accepted; "" where there are more, or none was accepted.
func (v *view) changedField(r report.Rejection, snap *journal.Snapshot) string {
	tv := v.now().types[r.Type]
	if tv == nil {
		return ""
	}
	before := v.body(tv.accept[r.Resource])
	for _, x := range snap.Resources {
		if x.Type == r.Type && x.Name == r.Resource {
			return differ(before, v.body(x.Hash))
		}
	}
	return ""
}

// body is the content of a hash: it stands in the first snapshot that had it.
func (v *view) body(hash string) map[string]any {
	for _, snap := range v.snapshots {
		for _, r := range snap.Resources {
			if r.Hash == hash && r.Body != nil {
				return r.Body
			}
		}
	}
	return nil
}

// differ is the innermost field that holds all the differences of two bodies.
func differ(a, b map[string]any) string {
	if a == nil || b == nil {
		return ""
	}
	var keys []string
	all := maps.Clone(a)
	maps.Copy(all, b)
	for k := range all {
		if !reflect.DeepEqual(a[k], b[k]) {
			keys = append(keys, k)
		}
	}
	if len(keys) != 1 {
		return ""
	}
	x, ok1 := a[keys[0]].(map[string]any)
	y, ok2 := b[keys[0]].(map[string]any)
	if inner := differ(x, y); ok1 && ok2 && inner != "" {
		return inner
	}
	return keys[0]
}

// fieldLine finds a field between the beginning of its resource and that of the
// next; 0 where it is not there, or there twice.
func fieldLine(lines []string, r report.Rejection, snap *journal.Snapshot, field string) int {
	if field == "" {
		return 0
	}
	end := len(lines)
	for _, x := range snap.Resources {
		if x.Line > r.Line {
			end = min(end, x.Line-1)
		}
	}
	is := regexp.MustCompile(`(^|[\s{,"])` + regexp.QuoteMeta(field) + `"?\s*:`)
	var found []int
	for i := r.Line; i <= end; i++ {
		if is.MatchString(lines[i-1]) && !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "#") {
			found = append(found, i)
		}
	}
	if len(slices.Compact(found)) != 1 {
		return 0
	}
	return found[0]
}
