package kubeport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// Port is the port of a kubelet, with a client that has credentials for it.
type Port struct {
	// URLs are asked in turn until one answers, such as https://127.0.0.1:10250
	// and, if the kubelet has that port, http://127.0.0.1:10255.
	URLs   []string
	Client *http.Client
}

// Address states where a kubelet listens.
type Address struct {
	// Address is host:port of the port for clients that log in; empty: the kubelet has none.
	Address string
	// ReadOnly is host:port of the port for everybody; empty: the kubelet has none.
	ReadOnly string
	// Certificate is the certificate with which the kubelet serves, in PEM, if its files have it.
	Certificate []byte
	// Dial reaches these addresses; nil: as all others are reached.
	Dial Dial
}

// Dial connects to an address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// New makes a client for the kubelet's port that logs in with the credentials in api; api may be nil for a kubelet
// that has a port for everybody.
//
// Most kubelets sign their certificate themselves. A certificate that is neither signed by the cluster nor in the
// kubelet's files is accepted only from an address of this machine, and only if the client logs in with a
// certificate. Then a program that has taken the kubelet's port could send wrong pods, but could not log in anywhere
// with what it learns. A token would be given away, so it is not sent there.
func New(api *rest.Config, port Address) (*Port, error) {
	out := &Port{}
	if port.Address != "" && api != nil {
		out.URLs = append(out.URLs, "https://"+port.Address)
	}
	if port.ReadOnly != "" {
		out.URLs = append(out.URLs, "http://"+port.ReadOnly)
	}
	if len(out.URLs) == 0 {
		return nil, errors.New("ask the kubelet: it has no port for everybody, and there are no credentials for the other")
	}
	plain := plainTransport(port.Dial)
	if port.Address == "" || api == nil {
		out.Client = &http.Client{Transport: plain}
		return out, nil
	}
	transport, err := loggedIn(api, port, plain)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	out.Client = &http.Client{Transport: &byScheme{https: transport, http: plain.Clone()}}
	return out, nil
}

// byScheme sends credentials only over https.
type byScheme struct{ https, http http.RoundTripper }

func (b *byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return b.https.RoundTrip(r)
	}
	return b.http.RoundTrip(r)
}

func loggedIn(api *rest.Config, port Address, t *http.Transport) (http.RoundTripper, error) {
	api = rest.CopyConfig(api)
	// The API server's name is not the kubelet's, and Insecure may be meant for the API server only.
	api.ServerName, api.Insecure = "", false
	conf, err := rest.TLSConfigFor(api)
	if err != nil {
		return nil, err
	}
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	check := peerCheck{
		roots: conf.RootCAs, pinned: certificates(port.Certificate), address: port.Address,
		secret: api.BearerToken != "" || api.BearerTokenFile != "" || api.Username != "" || api.ExecProvider != nil || api.AuthProvider != nil,
	}
	// VerifyConnection verifies the certificate instead.
	conf.InsecureSkipVerify = true
	conf.VerifyConnection = check.verify
	t = t.Clone()
	t.TLSClientConfig = conf
	return rest.HTTPWrappersForConfig(api, t)
}

// peerCheck decides whether it is the kubelet that answers.
type peerCheck struct {
	roots   *x509.CertPool // nil: those of the system
	pinned  [][]byte
	address string
	secret  bool // the client sends something that must not be given away
}

func (c *peerCheck) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the kubelet shows no certificate")
	}
	leaf := state.PeerCertificates[0]
	for _, known := range c.pinned {
		if bytes.Equal(known, leaf.Raw) {
			return nil
		}
	}
	host, _, err := net.SplitHostPort(c.address)
	if err != nil {
		return err
	}
	chain := x509.NewCertPool()
	for _, issuer := range state.PeerCertificates[1:] {
		chain.AddCert(issuer)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: c.roots, Intermediates: chain, DNSName: host})
	switch {
	case err == nil:
		return nil
	case c.secret:
		return fmt.Errorf("verify the kubelet's certificate: %w; a token is not sent to what cannot be verified", err)
	case !ofThisMachine(host):
		return fmt.Errorf("verify the kubelet's certificate: %w", err)
	}
	return nil
}

// ofThisMachine reports whether a host is an address of this machine.
func ofThisMachine(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// plainTransport makes a transport that uses no proxy.
func plainTransport(dial Dial) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil // the kubelet is on this machine
	t.IdleConnTimeout = time.Minute
	if dial != nil {
		t.DialContext = dial
	}
	return t
}
