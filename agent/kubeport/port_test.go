package kubeport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
)

type keyPair struct {
	text, key string
	pair      tls.Certificate
}

// selfSigned makes a certificate as a kubelet makes it for itself: for the node's name, signed by no authority.
func selfSigned(t *testing.T) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "node-1"}, DNSNames: []string{"node-1"},
		IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	k := keyPair{
		text: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})),
	}
	if k.pair, err = tls.X509KeyPair([]byte(k.text), []byte(k.key)); err != nil {
		t.Fatal(err)
	}
	return k
}

// ask asks the port's URLs in turn, as its users do.
func ask(t *testing.T, p *Port) (text string, err error) {
	t.Helper()
	var errs []error
	for _, u := range p.URLs {
		resp, err := kubeapi.Get(t.Context(), p.Client, u+"/pods")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	return "", errors.Join(errs...)
}

func TestPort(t *testing.T) {
	kubelet, user, other := selfSigned(t), selfSigned(t), selfSigned(t)
	var came []string // the certificate or token of each request
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			who = "certificate"
		}
		came = append(came, who+r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "pods")
	})
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{kubelet.pair}, ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs clients that hang up
	server.StartTLS()
	defer server.Close()
	public := httptest.NewServer(handler)
	defer public.Close()

	byToken := &rest.Config{Host: "https://10.0.0.1", BearerToken: "hunter2", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(other.text)}}
	byCertificate := &rest.Config{Host: "https://10.0.0.1", TLSClientConfig: rest.TLSClientConfig{
		CAData: []byte(other.text), CertData: []byte(user.text), KeyData: []byte(user.key)}}
	address, open := server.Listener.Addr().String(), public.Listener.Addr().String()
	for _, c := range []struct {
		name      string
		api       *rest.Config
		port      Address
		came, err string
	}{
		{"certificate, to our own address", byCertificate, Address{Address: address}, "certificate", ""},
		{"token, to whoever is there", byToken, Address{Address: address}, "", "a token is not sent"},
		{"token, to the certificate in the kubelet's files", byToken, Address{Address: address, Certificate: []byte(kubelet.text)}, "nobodyBearer hunter2", ""},
		{"token, to another certificate", byToken, Address{Address: address, Certificate: []byte(other.text)}, "", "a token is not sent"},
		{"the port for everybody gets no token", byToken, Address{Address: address, ReadOnly: open}, "nobody", ""},
		{"no credentials", nil, Address{Address: address, ReadOnly: open}, "nobody", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			came = nil
			k, err := New(c.api, c.port)
			if err != nil {
				t.Fatal(err)
			}
			pods, err := ask(t, k)
			if got := strings.Join(came, " "); got != c.came {
				t.Errorf("asked as %q, want %q", got, c.came)
			}
			if c.err == "" && (err != nil || pods == "") || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q, error %v; want %q", pods, err, c.err)
			}
		})
	}
	if _, err := New(nil, Address{Address: address}); err == nil {
		t.Error("it can be asked without credentials")
	}
}

// TestPeerElsewhere: another machine must show a certificate that can be verified.
func TestPeerElsewhere(t *testing.T) {
	leaf := selfSigned(t)
	parsed, err := x509.ParseCertificate(leaf.pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{parsed}}
	known := x509.NewCertPool()
	known.AddCert(parsed)
	for _, c := range []struct {
		name    string
		check   peerCheck
		trusted bool
	}{
		{"elsewhere", peerCheck{roots: x509.NewCertPool(), address: "192.0.2.1:10250"}, false},
		{"here", peerCheck{roots: x509.NewCertPool(), address: "127.0.0.1:10250"}, true},
		{"here, with a token", peerCheck{roots: x509.NewCertPool(), address: "127.0.0.1:10250", secret: true}, false},
		{"signed, by its name", peerCheck{roots: known, address: "node-1:10250", secret: true}, true},
		{"signed, by another name", peerCheck{roots: known, address: "node-2:10250"}, false},
		{"pinned", peerCheck{roots: x509.NewCertPool(), address: "192.0.2.1:10250", pinned: certificates([]byte(leaf.text)), secret: true}, true},
	} {
		if err := c.check.verify(state); (err == nil) != c.trusted {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if ip := a.(*net.IPNet).IP; !ofThisMachine(ip.String()) {
			t.Errorf("%s is not ours", ip)
		}
	}
}
