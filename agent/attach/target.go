package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/attach/cluster"
	"github.com/podstep/podstep/probes/kubelets"
)

// Target is the kubelet that probes see, and what was found out about it.
type Target struct {
	Kubelet kubelets.Kubelet

	note    func(text string, err error)
	state   string   // the directory of the state of takeovers
	guard   []string // the command that starts the guard; nil: this program's
	specs   specs
	reports reports
}

// newTarget finds out what there is to know of the kubelet of o, and how the API
// server and the kubelet can be asked. Neither is needed.
func newTarget(ctx context.Context, o *Options) *Target {
	t := &Target{Kubelet: o.Kubelet, state: o.State, guard: o.guard}
	k := &t.Kubelet
	api, err := askAPI(k, o.Kubeconfig)
	t.reports.apiErr = err
	t.reports.kubelet, t.reports.kubeletErr = askKubelet(k, api)
	if k.Node != "" {
		t.reports.api = api
	}
	t.askConfig(ctx)
	return t
}

// askAPI finds credentials for the API server. They may be of use for the kubelet
// although the API server cannot be asked.
func askAPI(k *kubelets.Kubelet, kubeconfig string) (*rest.Config, error) {
	config, _, err := cluster.Credentials(cluster.Candidates(kubeconfig, os.Getenv("KUBECONFIG"), cluster.Kubeconfig{Path: k.Kubeconfig, Root: rootOf(k)}))
	switch {
	case err == nil && config == nil:
		err = errors.New("there is no kubeconfig; name one with --kubeconfig")
	case err == nil && k.Node == "":
		err = errors.New("the node's name is not known")
	}
	return config, err
}

// rootOf is the kubelet's view of files, empty if it is ours: a kubeconfig that
// logs in with a program can be used then.
func rootOf(k *kubelets.Kubelet) string {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", k.PID))
	ours, err2 := os.Readlink("/proc/self/ns/mnt")
	root, err3 := os.Readlink(k.Root)
	if errors.Join(err, err2, err3) == nil && theirs == ours && root == "/" {
		return ""
	}
	return k.Root
}

// askConfigWithin bounds the wait for the kubelet's configuration.
const askConfigWithin = 3 * time.Second

// askConfig asks the kubelet what it runs with, which counts more than what its
// files say. One that does not answer, or not to us, is taken by its files.
func (t *Target) askConfig(ctx context.Context) {
	kubelet := t.reports.kubelet
	if kubelet == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askConfigWithin)
	defer cancel()
	if k, err := kubelets.Configz(ctx, t.Kubelet, kubelet.Client); err == nil {
		t.Kubelet = k
	}
}

// askKubelet finds the way to the kubelet's /pods.
func askKubelet(k *kubelets.Kubelet, config *rest.Config) (*cluster.KubeletPods, error) {
	if k.OwnNetwork {
		return nil, errors.New("it is in a network of its own")
	}
	return cluster.NewKubeletPods(config, cluster.KubeletPort{
		Address: address(k.Address, k.Port), ReadOnly: address(k.Address, k.ReadOnlyPort), Certificate: certificate(k),
	})
}

// address is host:port, from here, of where the kubelet listens; empty for a port
// that is switched off.
func address(host string, port int) string {
	if port == 0 {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// maxCertificate bounds what is read of a certificate file.
const maxCertificate = 1 << 20

// certificate is the one that the kubelet made for itself, if it did.
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
