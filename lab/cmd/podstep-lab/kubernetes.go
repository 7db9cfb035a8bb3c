package main

import (
	_ "time/tzdata" // time zones of CronJobs

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"            // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo"   // client metrics
	_ "k8s.io/component-base/metrics/prometheus/restclient" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"    // version metric
	apiserverapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	managerapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func apiserver(args []string) int { return runKubernetes(apiserverapp.NewAPIServerCommand(), args) }

func controllerManager(args []string) int {
	return runKubernetes(managerapp.NewControllerManagerCommand(), args)
}

func scheduler(args []string) int { return runKubernetes(schedulerapp.NewSchedulerCommand(), args) }

func runKubernetes(command *cobra.Command, args []string) int {
	command.SetArgs(args)
	return cli.Run(command)
}
