package simcri

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"time"
)

// selfSigned is a certificate for the ports of containers. It is made when the first client wants TLS. Health probes
// do not check it.
var selfSigned = sync.OnceValues(func() (*tls.Config, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simcri"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}, nil
})

// eitherListener accepts clients with and without TLS on one port. It tells them apart by the first byte that they
// send.
type eitherListener struct{ net.Listener }

func (l eitherListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &eitherConn{Conn: conn}, nil
}

// eitherConn knows what its client speaks when it has read a byte.
type eitherConn struct {
	net.Conn
	once sync.Once
	talk io.ReadWriter
	err  error
}

// tlsHandshake is the first byte of TLS.
const tlsHandshake = 0x16

func (c *eitherConn) decide() {
	var first [1]byte
	if _, c.err = io.ReadFull(c.Conn, first[:]); c.err != nil {
		return
	}
	whole := &rewound{c.Conn, io.MultiReader(bytes.NewReader(first[:]), c.Conn)}
	if c.talk = whole; first[0] != tlsHandshake {
		return
	}
	var config *tls.Config
	if config, c.err = selfSigned(); c.err == nil {
		c.talk = tls.Server(whole, config)
	}
}

func (c *eitherConn) Read(p []byte) (int, error) {
	if c.once.Do(c.decide); c.err != nil {
		return 0, c.err
	}
	return c.talk.Read(p)
}

func (c *eitherConn) Write(p []byte) (int, error) {
	if c.once.Do(c.decide); c.err != nil {
		return 0, c.err
	}
	return c.talk.Write(p)
}

// rewound is a connection whose first byte was read, and is read again.
type rewound struct {
	net.Conn
	in io.Reader
}

func (r *rewound) Read(p []byte) (int, error) { return r.in.Read(p) }
