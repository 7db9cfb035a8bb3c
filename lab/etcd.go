package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// etcdConfig does without durability, since a lab's data is thrown away with the lab. It also does without long
// election timeouts, since the only member elects itself.
const etcdConfig = `name: podstep-lab
data-dir: %[1]s
unsafe-no-fsync: true
heartbeat-interval: 20
election-timeout: 200
listen-client-urls: https://127.0.0.1:%[2]d
advertise-client-urls: https://127.0.0.1:%[2]d
listen-peer-urls: https://127.0.0.1:%[3]d
initial-advertise-peer-urls: https://127.0.0.1:%[3]d
initial-cluster: podstep-lab=https://127.0.0.1:%[3]d
client-transport-security: &security
  cert-file: %[4]s
  key-file: %[5]s
  trusted-ca-file: %[6]s
  client-cert-auth: true
peer-transport-security: *security
warning-unary-request-duration: 300000000 # nanoseconds; a file that leaves it out means 0
log-level: warn
log-outputs: [stderr]
`

func (l *Lab) startEtcd(context.Context) error {
	config := fmt.Sprintf(etcdConfig, l.paths.at("etcd"), l.state.Ports["etcd"], l.state.Ports["etcd-peer"],
		l.paths.pki("etcd.crt"), l.paths.pki("etcd.key"), l.paths.pki("etcd-ca.crt"))
	file := l.paths.config("etcd.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	return l.component("etcd", file)
}

// waitEtcd returns when etcd has a leader, itself.
func (l *Lab) waitEtcd(ctx context.Context) error {
	cert, err := tls.LoadX509KeyPair(l.paths.pki("apiserver-etcd.crt"), l.paths.pki("apiserver-etcd.key"))
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	ca, err := os.ReadFile(l.paths.pki("etcd-ca.crt"))
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	return poll(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.etcdURL()+"/health", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("ask etcd for its health: %w", err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("ask etcd for its health: %s", answer.Status)
		}
		return nil
	})
}

func (l *Lab) etcdURL() string { return fmt.Sprintf("https://127.0.0.1:%d", l.state.Ports["etcd"]) }
