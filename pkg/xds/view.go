package xds

import (
	"maps"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"lab/pkg/snapshot"
)

// part is the resources of one type, as one push brought them.
type part struct {
	push    int64 // counts from 1
	version string
	items   map[string]types.ResourceWithTTL
}

// view is what the cache holds, by type URL. While an ordered push is under
// way its parts come from two pushes. It is never changed, only replaced.
//
// Unlike the library's Snapshot it takes any type URL, and a type of which the
// snapshot has no resource has its version too: the removal of the last
// listener has to be sent.
type view struct {
	parts map[string]part
	rest  part // of every type without a part: no resources
}

func (v view) part(url string) part {
	if p, ok := v.parts[url]; ok {
		return p
	}
	return v.rest
}

func (v view) with(url string, p part) view {
	parts := maps.Clone(v.parts)
	if parts == nil {
		parts = map[string]part{}
	}
	parts[url] = p
	return view{parts: parts, rest: v.rest}
}

// viewOf sorts a set by type.
func viewOf(set *snapshot.Set, push int64) view {
	v := view{parts: map[string]part{}, rest: part{push: push, version: set.Version}}
	for _, r := range set.Resources {
		p, ok := v.parts[r.TypeURL]
		if !ok {
			p = part{push: push, version: set.Version, items: map[string]types.ResourceWithTTL{}}
			v.parts[r.TypeURL] = p
		}
		p.items[r.Name] = types.ResourceWithTTL{Resource: r.Message}
	}
	return v
}

var _ cache.ResourceSnapshot = view{}

// GetVersion is part of cache.ResourceSnapshot.
func (v view) GetVersion(url string) string { return v.part(url).version }

// GetResourcesAndTTL is part of cache.ResourceSnapshot.
func (v view) GetResourcesAndTTL(url string) map[string]types.ResourceWithTTL {
	return v.part(url).items
}

// GetResources is part of cache.ResourceSnapshot.
func (v view) GetResources(url string) map[string]types.Resource {
	out := map[string]types.Resource{}
	for name, r := range v.part(url).items {
		out[name] = r.Resource
	}
	return out
}

// ConstructVersionMap is part of cache.ResourceSnapshot, for Delta only.
func (v view) ConstructVersionMap() error { return nil }

// GetVersionMap is part of cache.ResourceSnapshot, for Delta only.
func (v view) GetVersionMap(string) map[string]string { return nil }
