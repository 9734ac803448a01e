package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// Stats gives the counters, gauges and text readouts whose names match the
// filter, a regular expression in RE2 syntax; "" is all. Histograms are left
// out. Numbers are exact: a gauge may be 18446744073709551615.
func (c *Client) Stats(ctx context.Context, filter string) (values map[string]uint64, texts map[string]string, err error) {
	var raw struct {
		Stats []struct {
			Name  string          `json:"name"` // absent from the entry of the histograms
			Value json.RawMessage `json:"value"`
		} `json:"stats"`
	}
	path := "/stats?format=json&filter=" + url.QueryEscape(filter)
	if err := c.getJSON(ctx, path, &raw); err != nil {
		return nil, nil, err
	}
	values, texts = make(map[string]uint64, len(raw.Stats)), map[string]string{}
	for _, s := range raw.Stats {
		switch {
		case s.Name == "" || len(s.Value) == 0:
		case s.Value[0] == '"':
			var text string
			if err := json.Unmarshal(s.Value, &text); err != nil {
				return nil, nil, fmt.Errorf("envoy stat %s: %w", s.Name, err)
			}
			texts[s.Name] = text
		default:
			n, err := strconv.ParseUint(string(s.Value), 10, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("envoy stat %s: %w", s.Name, err)
			}
			values[s.Name] = n
		}
	}
	return values, texts, nil
}
