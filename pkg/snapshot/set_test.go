package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func load(t *testing.T, text string) *Set {
	t.Helper()
	set, list := Load("snapshot.yaml", []byte(text))
	if set == nil {
		t.Fatal(list.Err())
	}
	return set
}

func TestContentHash(t *testing.T) {
	two := load(t, "resources:\n"+clusterHead+"a\n  lb_policy: RANDOM\n"+clusterHead+"b\n")
	same := load(t, "# other order, other spelling\nversion_info: \"7\"\nresources:\n"+clusterHead+"b\n"+clusterHead+"a\n  lbPolicy: random # 3\n")
	other := load(t, "resources:\n"+clusterHead+"a\n  lb_policy: MAGLEV\n"+clusterHead+"b\n")
	renamed := load(t, "resources:\n"+clusterHead+"a\n  lb_policy: RANDOM\n"+clusterHead+"c\n")
	if two.ContentHash() != same.ContentHash() {
		t.Error("order, comment or version changed the hash")
	}
	if two.ContentHash() == other.ContentHash() || two.ContentHash() == renamed.ContentHash() {
		t.Error("another content has the same hash")
	}
	if two.SHA256 == same.SHA256 || len(two.SHA256) != 64 {
		t.Errorf("SHA256 %s and %s", two.SHA256, same.SHA256)
	}
	if !same.Explicit || same.Version != "7" || two.Explicit || two.Version != "" {
		t.Errorf("versions %+v %+v", same, two)
	}
}

func TestBody(t *testing.T) {
	set := load(t, "resources:\n"+clusterHead+"a\n  connect_timeout: 0s\n  lb_policy: RANDOM\n")
	body, err := set.Find("CDS", "a").Body()
	if err != nil || body["connect_timeout"] != "0s" || body["lb_policy"] != "RANDOM" || body["name"] != "a" {
		t.Errorf("%v, %v", body, err)
	}
}

// TestBodyWithoutJSON: a message that protobuf's JSON refuses has a body too.
func TestBodyWithoutJSON(t *testing.T) {
	set := load(t, "resources:\n"+clusterHead+`a
  connect_timeout: {seconds: 999999999999}
  lb_policy: RANDOM
  per_connection_buffer_limit_bytes: 5
  circuit_breakers: {thresholds: [{max_requests: 7}]}
  metadata:
    filter_metadata: {x: {n: 5, b: yes, t: text}}
    typed_filter_metadata: {m: {"@type": t/google.protobuf.FieldMask, value: {paths: [a_B]}}, b: {"@type": t/google.protobuf.BytesValue, value: aGk=}}
`)
	body, err := set.Resources[0].Body()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"seconds":"999999999999"`, `"lb_policy":"RANDOM"`, `{"value":5}`, `"max_requests":{"value":7}`,
		`"paths":["a_B"]`, `"@type":"t/google.protobuf.FieldMask"`, `"number_value":5`, `"bool_value":true`, `"value":"aGk="`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is missing in %s", want, raw)
		}
	}
}

// TestSecrets keeps private keys out of what goes into the journal: the body
// of a resource, and the source line and values of a problem.
func TestSecrets(t *testing.T) {
	const key = "MIIBVgIBADANBgkqhkiG"
	secret := `resources:
- "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret
  name: s
  tls_certificate: {private_key: {inline_string: ` + key + `}}
`
	inline := "resources:\n" + clusterHead + `a
  transport_socket:
    name: tls
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
      common_tls_context: {tls_certificates: [{private_key: {inline_string: ` + key + `}}]}
`
	for _, text := range []string{secret, inline} {
		for _, r := range load(t, text).Resources {
			body, err := r.Body()
			if err != nil || strings.Contains(fmt.Sprint(body), key) {
				t.Errorf("%s %s shows the key: %v, %v", r.Type, r.Name, body, err)
			}
			if (body == nil) != (r.Type == "SDS") {
				t.Errorf("%s %s: body %v: a Secret has none, others lose the key alone", r.Type, r.Name, body)
			}
		}
		for _, change := range [][2]string{
			{"inline_string: " + key, "inline_bytes: \"" + key + "!\""},
			{"inline_string: " + key, "inline_string: {x: " + key + "}"},
			{"inline_string: " + key, "inline: " + key},
			{"private_key: {inline_string: " + key + "}", "privat_key: " + key},
			{"tls_certificate", "tls_certificat"},
			{"inline_string: " + key, "inline_string: \"-----BEGIN PRIVATE KEY-----" + key},
		} {
			set, list := Load("snapshot.yaml", []byte(strings.Replace(text, change[0], change[1], 1)))
			if set != nil {
				t.Errorf("%s is accepted", change[1])
			}
			for _, p := range list {
				if all := fmt.Sprint(p.Error(), p.Place, p.Args); strings.Contains(all, key) {
					t.Errorf("%s shows the key: %s", change[1], all)
				}
			}
		}
	}
}

// TestBlame has the wordings of NACKs that were seen on Envoy 1.36 to 1.40.
func TestBlame(t *testing.T) {
	set := load(t, "resources:\n"+clusterHead+"web\n"+clusterHead+"web.v2\n"+clusterHead+"bad1\n"+clusterHead+`bad2
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: l1
`)
	for _, c := range []struct{ typ, message, want string }{
		{"CDS", "Error adding/updating cluster(s) bad1: malformed IP address: localhost. Consider setting resolver_name", "bad1"},
		{"CDS", "Error adding/updating cluster(s) bad1: malformed IP address: x, bad2: cannot create an EDS cluster without an EDS config", "bad1 bad2"},
		{"CDS", "Error adding/updating cluster(s) web.v2: ring hash: minimum_ring_size (1024) > maximum_ring_size (10)", "web.v2"},
		{"CDS", "goo.gle/debugproto    name:  \"web\"\nconnect_timeout {\n}\n: Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must be greater than 0s)", "web"},
		{"CDS", "duplicate cluster bad2 found", "bad2"},
		{"CDS", "something else", ""},
		{"CDS", "the website is down", ""},
		{"LDS", "Didn't find a registered implementation for 'lab.unknown'", "l1"},
		{"LDS", "", ""},
		{"RDS", "no such type here", ""},
	} {
		var got []string
		for _, r := range set.Blame(c.typ, c.message) {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %q: %v, want %s", c.typ, c.message, got, c.want)
		}
	}
}

// TestPlaces: columns count characters, lines are those of an editor.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text      string
		line, col int
	}{
		{"resources:\n" + clusterHead + "中文\n  alt_stat_name: [订单, 5]\n", 4, 18},
		{"# 中\r\nresources:\r\n- {name: 订单, x: y}\r\n", 3, 3},
		{"\uFEFFrezources: []\n", 1, 1},
		{"resources:\n- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: 订单, lb_polcy: x}\n", 2, 76},
	} {
		_, list := Load("f", []byte(c.text))
		if len(list) == 0 {
			t.Errorf("%q is accepted", c.text)
			continue
		}
		p := list[0].Place
		want := strings.Split(strings.ReplaceAll(strings.TrimPrefix(c.text, "\uFEFF"), "\r", ""), "\n")[c.line-1]
		if p.Line != c.line || p.Col != c.col || p.Source != want {
			t.Errorf("%q: %d:%d %q", c.text, p.Line, p.Col, p.Source)
		}
	}
}
