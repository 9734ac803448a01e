// Package admin reads Envoy's admin interface: readiness, stats, hosts,
// Listeners and the configuration in force (Envoy docs, operations/admin), and
// samples it into journal events.
//
// It must not change Envoy (no POST), start processes, or judge what it reads.
package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// maxAnswer caps an answer: 1,000 Clusters have 110,000 stats, about 10 MB.
const maxAnswer = 256 << 20

// Client asks one admin interface. It is safe for concurrent use; how long it
// waits is up to the ctx of each call.
type Client struct {
	Addr string // "127.0.0.1:41234"
	http *http.Client
}

// New gives a client for an address. Close releases its connections.
func New(addr string) *Client {
	// No proxy: the address is on loopback, whatever the environment says.
	return &Client{Addr: addr, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Ready tells whether Envoy is LIVE, and its state in its own word otherwise
// ("PRE_INITIALIZING", "INITIALIZING", "DRAINING").
func (c *Client) Ready(ctx context.Context) (live bool, state string, err error) {
	status, body, err := c.get(ctx, "/ready")
	if err != nil {
		return false, "", err
	}
	state = strings.TrimSpace(string(body))
	return status == http.StatusOK && state == "LIVE", state, nil
}

// ServerInfo is what /server_info says about the process that answers.
type ServerInfo struct {
	Version           string // "1.40.0"
	State             string // "LIVE"
	BaseID            string
	Epoch             int
	HotRestartVersion string // "11.104"; two Envoys with different ones cannot hand over
}

// ServerInfo asks who answers.
func (c *Client) ServerInfo(ctx context.Context) (ServerInfo, error) {
	var raw struct {
		Version           string `json:"version"` // "COMMIT/1.40.0/Clean/RELEASE/BoringSSL"
		State             string `json:"state"`
		HotRestartVersion string `json:"hot_restart_version"`
		Options           struct {
			BaseID string `json:"base_id"`
			Epoch  int    `json:"restart_epoch"`
		} `json:"command_line_options"`
	}
	if err := c.getJSON(ctx, "/server_info", &raw); err != nil {
		return ServerInfo{}, err
	}
	info := ServerInfo{
		State: raw.State, BaseID: raw.Options.BaseID, Epoch: raw.Options.Epoch,
		HotRestartVersion: raw.HotRestartVersion,
	}
	if parts := strings.Split(raw.Version, "/"); len(parts) > 1 {
		info.Version = parts[1]
	}
	return info, nil
}

// ConfigDump gives /config_dump as it is, endpoints included.
func (c *Client) ConfigDump(ctx context.Context) (json.RawMessage, error) {
	var raw json.RawMessage
	err := c.getJSON(ctx, "/config_dump?include_eds", &raw)
	return raw, err
}

// Listeners gives the address of each active Listener by its name. A Listener
// that is still warming is not among them.
func (c *Client) Listeners(ctx context.Context) (map[string]string, error) {
	var raw struct {
		Statuses []struct {
			Name    string  `json:"name"`
			Address address `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := c.getJSON(ctx, "/listeners?format=json", &raw); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(raw.Statuses))
	for _, s := range raw.Statuses {
		out[s.Name] = s.Address.String()
	}
	return out, nil
}

// address is an envoy.config.core.v3.Address in JSON.
type address struct {
	Socket struct {
		Address string `json:"address"`
		Port    int    `json:"port_value"`
	} `json:"socket_address"`
	Pipe struct {
		Path string `json:"path"`
	} `json:"pipe"`
}

func (a address) String() string {
	if a.Pipe.Path != "" {
		return a.Pipe.Path
	}
	return net.JoinHostPort(a.Socket.Address, strconv.Itoa(a.Socket.Port))
}

func (c *Client) getJSON(ctx context.Context, path string, into any) error {
	status, body, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("envoy admin %s: status %d: %.200s", path, status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("envoy admin %s: %w", path, err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Addr+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("envoy admin %s: %w", path, err)
	}
	return resp.StatusCode, body, nil
}
