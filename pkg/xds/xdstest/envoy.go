package xdstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Envoy is a running Envoy whose whole configuration comes over ADS.
type Envoy struct {
	Admin string // "127.0.0.1:PORT"
	cmd   *exec.Cmd
	done  chan struct{}
	log   string
}

// Start runs Envoy against the control plane at ads ("127.0.0.1:PORT") until
// the test ends. It returns when the admin interface answers.
func Start(t testing.TB, ads string) *Envoy {
	t.Helper()
	dir := t.TempDir()
	boot := filepath.Join(dir, "boot.json")
	if err := os.WriteFile(boot, bootstrap(ads), 0o600); err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(dir, "admin")
	e := &Envoy{log: filepath.Join(dir, "envoy.log"), done: make(chan struct{})}
	e.cmd = exec.Command(binary(t), "-c", boot, "--disable-hot-restart", "--concurrency", "1",
		"--admin-address-path", address, "--log-path", e.log)
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(e.done); _ = e.cmd.Wait() }()
	t.Cleanup(e.Kill)
	e.Eventually(t, "the admin address file", func() bool {
		raw, err := os.ReadFile(address)
		e.Admin = strings.TrimSpace(string(raw))
		return err == nil && e.Admin != ""
	})
	return e
}

// Kill ends Envoy with SIGKILL and waits for its end.
func (e *Envoy) Kill() {
	_ = e.cmd.Process.Kill()
	<-e.done
}

// Get reads a page of the admin interface.
func (e *Envoy) Get(path string) (string, error) {
	c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get("http://" + e.Admin + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}

// Stat reads one stat ("" where it is missing); text readouts lose their quotes.
func (e *Envoy) Stat(name string) string {
	page, err := e.Get("/stats?filter=^" + name + "$")
	if err != nil {
		return ""
	}
	_, value, _ := strings.Cut(strings.TrimSpace(page), ": ")
	return strings.Trim(value, `"`)
}

// Eventually polls until ok holds, and fails the test with what it waited for.
func (e *Envoy) Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-e.done:
			t.Fatalf("Envoy ended while the test waited for %s\n%s", what, e.tail())
		case <-deadline:
			t.Fatalf("waited %v for %s\n%s", Patience, what, e.tail())
		case <-tick.C:
		}
	}
}

func (e *Envoy) tail() string {
	raw, _ := os.ReadFile(e.log)
	if len(raw) > 4000 {
		raw = raw[len(raw)-4000:]
	}
	return string(raw)
}

// FreePort gives a port that was free a moment ago.
func FreePort(t testing.TB) int {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().(*net.TCPAddr).Port
}

// bootstrap has no static resource: ADS is reached through a google_grpc
// service (Envoy docs, api-v3/config/core/v3/grpc_service.proto).
func bootstrap(ads string) []byte {
	source := map[string]any{"resource_api_version": "V3", "ads": map[string]any{}}
	raw, err := json.Marshal(map[string]any{
		"node":  map[string]any{"id": "test", "cluster": "test"},
		"admin": map[string]any{"address": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": 0}}},
		"dynamic_resources": map[string]any{
			"lds_config": source, "cds_config": source,
			"ads_config": map[string]any{
				"api_type": "GRPC", "transport_api_version": "V3", "set_node_on_first_message_only": true,
				"grpc_services": []any{map[string]any{"google_grpc": map[string]any{"target_uri": ads, "stat_prefix": "ads"}}},
			},
		},
	})
	if err != nil {
		panic(fmt.Sprintf("bootstrap: %v", err)) // constant but for one string
	}
	return raw
}
