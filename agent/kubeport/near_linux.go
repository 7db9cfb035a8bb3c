package kubeport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/probes/kubelets"
)

// Of returns the port of a kubelet of this machine. api may be nil, as for New.
func Of(k *kubelets.Kubelet, api *rest.Config) (*Port, error) {
	return New(api, Address{
		Address: address(k.Address, k.Port), ReadOnly: address(k.Address, k.ReadOnlyPort), Certificate: certificate(k),
		Dial: dialOf(k),
	})
}

// dialOf returns how a kubelet's addresses are dialled; nil: as all others are.
func dialOf(k *kubelets.Kubelet) Dial {
	if !k.OwnNetwork {
		return nil
	}
	return k.Dial
}

// CredentialsOf finds credentials that a kubelet may accept: those of the named kubeconfig, or else of the usual
// files. No configuration and no error mean that there are none.
func CredentialsOf(k *kubelets.Kubelet, named string) (*rest.Config, error) {
	config, _, err := Credentials(Candidates(named, os.Getenv("KUBECONFIG"), Kubeconfig{Path: k.Kubeconfig, Root: rootOf(k)}))
	return config, err
}

// Trusts reports whether a kubelet may be of the API server's cluster, by the kubelet's kubeconfig as far as it can
// be read.
func Trusts(k *kubelets.Kubelet, api *rest.Config) bool {
	if k.Kubeconfig == "" {
		return true
	}
	own, err := Kubeconfig{Path: k.Kubeconfig, Root: rootOf(k)}.load()
	return err != nil || sameCluster(withCA(api), own)
}

// KnowsCluster reports whether the kubelet's own kubeconfig shows of which cluster it is, so that Trusts does not guess.
func KnowsCluster(k *kubelets.Kubelet, api *rest.Config) bool {
	if k.Kubeconfig == "" || api == nil {
		return false
	}
	own, err := Kubeconfig{Path: k.Kubeconfig, Root: rootOf(k)}.load()
	api = withCA(api)
	return err == nil && own != nil && api != nil && len(own.CAData) > 0 && len(api.CAData) > 0
}

// withCA returns the configuration with its certificate authorities read from their file.
func withCA(api *rest.Config) *rest.Config {
	if api == nil || len(api.CAData) > 0 || api.CAFile == "" {
		return api
	}
	text, err := os.ReadFile(api.CAFile)
	if err != nil {
		return nil
	}
	out := rest.CopyConfig(api)
	out.CAData = text
	return out
}

// rootOf returns the kubelet's root directory; empty if it is podstep's own. Then a kubeconfig that logs in with a
// program can be used.
func rootOf(k *kubelets.Kubelet) string {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", k.PID))
	ours, err2 := os.Readlink("/proc/self/ns/mnt")
	root, err3 := os.Readlink(k.Root)
	if errors.Join(err, err2, err3) == nil && theirs == ours && root == "/" {
		return ""
	}
	return k.Root
}

// address returns host:port where this machine reaches the kubelet's port; empty for a port that is switched off.
func address(host string, port int) string {
	if port == 0 {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// maxCertificate bounds how much of a certificate file is read, in bytes.
const maxCertificate = 1 << 20

// certificate returns the certificate that the kubelet made for itself, if it did.
func certificate(k *kubelets.Kubelet) []byte {
	dir := k.Flags["cert-dir"]
	if dir == "" {
		dir = path.Join(k.RootDir, "pki")
	}
	f, err := k.Open(path.Join(dir, "kubelet.crt"))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCertificate))
	if err != nil {
		return nil
	}
	return text
}
