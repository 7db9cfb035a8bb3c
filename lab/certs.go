package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"time"
)

// serviceIP is the first address of the service network, which the API server takes for itself.
var serviceIP = netip.MustParseAddr("10.96.0.1")

// authority signs certificates. etcd has an authority of its own, so that a client of the API server is no client of
// etcd.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// certificate is one that createCerts makes.
type certificate struct {
	by    *authority
	file  string
	name  string
	group string
	hosts []string
	ips   []net.IP
}

// createCerts makes every key and certificate of a lab, below DIR/pki.
func createCerts(p paths, node netip.Addr, nodes []labNode) error {
	if err := os.MkdirAll(p.pki(""), 0o700); err != nil {
		return fmt.Errorf("create certificates: %w", err)
	}
	kubernetes, err := newAuthority(p, "ca", "podstep-lab")
	if err != nil {
		return fmt.Errorf("create certificates: %w", err)
	}
	etcd, err := newAuthority(p, "etcd-ca", "podstep-lab-etcd")
	if err != nil {
		return fmt.Errorf("create certificates: %w", err)
	}
	loopback := net.IPv4(127, 0, 0, 1)
	nodeIP := net.IP(node.AsSlice())
	all := []certificate{
		{etcd, "etcd", "etcd", "", []string{"localhost"}, []net.IP{loopback}},
		{etcd, "apiserver-etcd", "kube-apiserver", "", nil, nil},
		{kubernetes, "apiserver", "kube-apiserver", "",
			[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			[]net.IP{loopback, nodeIP, serviceIP.AsSlice()}},
		{kubernetes, "apiserver-kubelet", "kube-apiserver-kubelet-client", "system:masters", nil, nil},
		{kubernetes, "admin", "podstep-lab", "system:masters", nil, nil},
		{kubernetes, "scheduler", "system:kube-scheduler", "", nil, nil},
		{kubernetes, "controller-manager", "system:kube-controller-manager", "", nil, nil},
	}
	for _, n := range nodes {
		all = append(all,
			certificate{kubernetes, n.part("kubelet-server"), n.name, "", []string{n.name, "localhost"}, []net.IP{loopback, nodeIP}},
			certificate{kubernetes, n.part("kubelet"), "system:node:" + n.name, "system:nodes", nil, nil})
	}
	for _, c := range all {
		subject := pkix.Name{CommonName: c.name}
		if c.group != "" {
			subject.Organization = []string{c.group}
		}
		if err := c.by.issue(p, c.file, subject, c.hosts, c.ips); err != nil {
			return fmt.Errorf("create certificate %s: %w", c.file, err)
		}
	}
	// Service account tokens are signed with this key and checked with its public half.
	if _, err := newKey(p.pki("service-accounts.key")); err != nil {
		return fmt.Errorf("create service account key: %w", err)
	}
	return nil
}

func newAuthority(p paths, file, name string) (*authority, error) {
	key, err := newKey(p.pki(file + ".key"))
	if err != nil {
		return nil, err
	}
	cert := template(pkix.Name{CommonName: name})
	cert.IsCA, cert.BasicConstraintsValid = true, true
	cert.KeyUsage |= x509.KeyUsageCertSign
	if err := sign(p.pki(file+".crt"), cert, cert, key, key); err != nil {
		return nil, err
	}
	return &authority{cert, key}, nil
}

// issue writes file.crt and file.key, good for both ends of a connection.
func (a *authority) issue(p paths, file string, subject pkix.Name, hosts []string, ips []net.IP) error {
	key, err := newKey(p.pki(file + ".key"))
	if err != nil {
		return err
	}
	cert := template(subject)
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert.DNSNames, cert.IPAddresses = hosts, ips
	return sign(p.pki(file+".crt"), cert, a.cert, key, a.key)
}

func template(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour), // the clock may be set while the lab runs
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func sign(file string, cert, parent *x509.Certificate, key, by *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), by)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
