package lab

import (
	"context"
	"fmt"
	"strconv"
)

func (l *Lab) startAPIServer(context.Context) error {
	pki := l.paths.pki
	return l.component("kube-apiserver",
		"--etcd-servers="+l.etcdURL(),
		"--etcd-cafile="+pki("etcd-ca.crt"),
		"--etcd-certfile="+pki("apiserver-etcd.crt"),
		"--etcd-keyfile="+pki("apiserver-etcd.key"),
		"--bind-address=127.0.0.1",
		"--secure-port="+strconv.Itoa(l.state.Ports["kube-apiserver"]),
		"--advertise-address="+l.node.String(),
		// Nothing routes the service network (there is no kube-proxy), so the service "kubernetes" has no endpoints.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+serviceIP.String()+"/16",
		"--cert-dir="+pki(""),
		"--tls-cert-file="+pki("apiserver.crt"),
		"--tls-private-key-file="+pki("apiserver.key"),
		"--client-ca-file="+pki("ca.crt"),
		"--kubelet-client-certificate="+pki("apiserver-kubelet.crt"),
		"--kubelet-client-key="+pki("apiserver-kubelet.key"),
		"--kubelet-certificate-authority="+pki("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+pki("service-accounts.key"),
		"--service-account-signing-key-file="+pki("service-accounts.key"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--profiling=false",
	)
}

// waitAPIServer returns when the API server says that it is ready, RBAC roles included.
func (l *Lab) waitAPIServer(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error {
		_, err := l.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Raw()
		if err != nil {
			return fmt.Errorf("ask kube-apiserver for /readyz: %w", err)
		}
		return nil
	})
}
