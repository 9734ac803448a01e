package envoy

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lab/envoy/admin"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// emptyADS answers every first request with no resources, and counts requests
// with and without a node.
type emptyADS struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	withNode, without atomic.Int32
	node              atomic.Value
}

func (s *emptyADS) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	for {
		req, err := st.Recv()
		if err != nil {
			return err
		}
		if req.GetNode() == nil {
			s.without.Add(1)
		} else {
			s.withNode.Add(1)
			s.node.Store(req.GetNode().GetId() + "/" + req.GetNode().GetCluster())
		}
		if req.GetResponseNonce() != "" {
			continue
		}
		err = st.Send(&discovery.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: req.GetTypeUrl()})
		if err != nil {
			return err
		}
	}
}

func TestBootstrapReachesControlPlane(t *testing.T) {
	testEnvoy(t) // may have to be fetched, while the proxy settings are the user's
	// The proxy variables would lead gRPC away from the control plane.
	for _, name := range []string{"http_proxy", "https_proxy", "grpc_proxy"} {
		t.Setenv(name, "http://"+refusing(t))
	}
	for _, way := range []string{GoogleGRPC, EnvoyGRPC} {
		t.Run(way, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ads := &emptyADS{}
			srv := grpc.NewServer()
			discovery.RegisterAggregatedDiscoveryServiceServer(srv, ads)
			go func() { _ = srv.Serve(l) }()
			t.Cleanup(srv.Stop)

			b, err := Bootstrap(BootstrapConfig{NodeID: "id", NodeCluster: "cl", ControlPlane: l.Addr().String(), ADS: way})
			if err != nil {
				t.Fatal(err)
			}
			var plain struct {
				Static any `json:"static_resources"`
				Admin  any `json:"admin"`
			}
			if err := json.Unmarshal(b, &plain); err != nil {
				t.Fatal(err)
			}
			if (plain.Static == nil) != (way == GoogleGRPC) {
				t.Errorf("static resources: %v", plain.Static)
			}
			n := newNative(t, string(b))
			if err := Validate(t.Context(), n.Binary, n.Bootstrap); err != nil {
				t.Fatal(err)
			}
			p := start(t, n, 0)
			ready(t, p)
			acknowledged(t, p.AdminAddr())
			if ads.withNode.Load() != 1 || ads.without.Load() == 0 || ads.node.Load() != "id/cl" {
				t.Errorf("%d requests with a node (%v), %d without", ads.withNode.Load(), ads.node.Load(), ads.without.Load())
			}
			Stop(p, 5*time.Second)
		})
	}
}

// acknowledged waits until Envoy has taken both first responses.
func acknowledged(t *testing.T, addr string) {
	t.Helper()
	c := admin.New(addr)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		_, texts, err := c.Stats(ctx, `version_text$`)
		if err != nil {
			t.Fatalf("waiting for version 1 of CDS and LDS: %v, %v", err, texts)
		}
		if texts["cluster_manager.cds.version_text"] == "1" && texts["listener_manager.lds.version_text"] == "1" {
			return
		}
	}
}

func TestBootstrapRefuses(t *testing.T) {
	t.Parallel()
	good := BootstrapConfig{NodeID: "n", NodeCluster: "c", ControlPlane: "127.0.0.1:18000"}
	for want, change := range map[string]func(*BootstrapConfig){
		"node id":                func(c *BootstrapConfig) { c.NodeID = "" },
		"70000":                  func(c *BootstrapConfig) { c.ControlPlane = "127.0.0.1:70000" },
		"missing port":           func(c *BootstrapConfig) { c.ControlPlane = "127.0.0.1" },
		"unknown way":            func(c *BootstrapConfig) { c.ADS = "rest" },
		"has no port from 1 to ": func(c *BootstrapConfig) { c.ControlPlane = "127.0.0.1:0" },
	} {
		c := good
		change(&c)
		if b, err := Bootstrap(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %s", want, err, b)
		}
	}
}
