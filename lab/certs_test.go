package lab

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"os"
	"testing"
)

func TestCreateCerts(t *testing.T) {
	p := paths{dir: t.TempDir()}
	node := netip.MustParseAddr("10.214.1.1")
	if err := createCerts(p, node, nodesIn(p, 2)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, ca, host string }{
		{"etcd", "etcd-ca", "127.0.0.1"},
		{"apiserver", "ca", "127.0.0.1"},
		{"apiserver", "ca", "kubernetes.default.svc"},
		{"kubelet-server", "ca", "10.214.1.1"},
		{"kubelet-server-node-2", "ca", "node-2"},
		{"kubelet-node-2", "ca", ""},
		{"admin", "ca", ""},
	} {
		pair, err := tls.LoadX509KeyPair(p.pki(c.file+".crt"), p.pki(c.file+".key"))
		if err != nil {
			t.Fatal(err)
		}
		ca, err := os.ReadFile(p.pki(c.ca + ".crt"))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.host}); err != nil {
			t.Errorf("%s is not good for %q: %v", c.file, c.host, err)
		}
	}
	info, err := os.Stat(p.pki("ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v", info.Mode())
	}
}
