package lab

import "context"

// startScheduler and startControllerManager run without ports of their own: no part of the lab asks them for
// anything.

func (l *Lab) startScheduler(context.Context) error {
	file := l.paths.config("scheduler.kubeconfig")
	if err := writeKubeconfig(l.paths, file, "scheduler", l.state.Ports["kube-apiserver"]); err != nil {
		return err
	}
	return l.component("kube-scheduler",
		"--kubeconfig="+file,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	)
}

func (l *Lab) startControllerManager(context.Context) error {
	file := l.paths.config("controller-manager.kubeconfig")
	if err := writeKubeconfig(l.paths, file, "controller-manager", l.state.Ports["kube-apiserver"]); err != nil {
		return err
	}
	return l.component("kube-controller-manager",
		"--kubeconfig="+file,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--use-service-account-credentials=true",
		// With its default of 20 requests a second it takes seconds to start.
		"--kube-api-qps=1000",
		"--kube-api-burst=1000",
		"--service-account-private-key-file="+l.paths.pki("service-accounts.key"),
		"--root-ca-file="+l.paths.pki("ca.crt"),
		"--cluster-signing-cert-file="+l.paths.pki("ca.crt"),
		"--cluster-signing-key-file="+l.paths.pki("ca.key"),
	)
}
