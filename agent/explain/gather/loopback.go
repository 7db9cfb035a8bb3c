package gather

import (
	"context"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeport"
)

// maxNode bounds a Node object, in bytes.
const maxNode = 4 << 20

// onLoopback returns the ways to the port of a kubelet whose node has a loopback address, as that of a simulated node
// has: no API server connects to such an address for its clients, and the process is none that looks like a kubelet.
// Only an API server on this machine can have such a node here.
func (k *Kubelet) onLoopback(ctx context.Context, node string) (ways []way) {
	if k.API == nil || k.Near == nil || k.Near.Login == nil || node == "" || !isLoopback(hostOf(k.Near.Login.Host)) {
		return nil
	}
	var n corev1.Node
	if err := k.API.Call(ctx, kubeapi.Request{Path: "api/v1/nodes/" + url.PathEscape(node)}, maxNode, &n); err != nil {
		return nil
	}
	port := strconv.Itoa(int(n.Status.DaemonEndpoints.KubeletEndpoint.Port))
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP || !isLoopback(a.Address) {
			continue
		}
		direct, err := kubeport.New(k.Near.Login, kubeport.Address{Address: net.JoinHostPort(a.Address, port)})
		if err != nil {
			return nil
		}
		for _, u := range direct.URLs {
			ways = append(ways, directly(direct.Client, u))
		}
	}
	return ways
}

// hostOf returns the host of an API server's address, which may be a URL, or a host with a port.
func hostOf(server string) string {
	if u, err := url.Parse(server); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return server
	}
	return host
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
