// Command podstep-kubelet is the kubelet: the real command, with the same flags
// and configuration, built with podstep's hook in the functions of the
// catalogue, and with podstep's agent beside it in the same process.
//
// Build it with podstep-weave, as `make build` does. The agent serves
// PODSTEP_SOCKET, by default /run/podstep/agent.sock; PODSTEP=off runs the
// kubelet without it. With PODSTEP_READ_ONLY=true the agent holds no pod and injects
// no fault, whoever asks.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the kubelet's own command has it: JSON logs
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // and it: client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // and it: version metrics
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	stop := startAgent()
	// The kubelet calls os.Exit in many places. stop is not needed then, since holds and socket end with the process.
	code := cli.Run(app.NewKubeletCommand(context.Background()))
	stop()
	os.Exit(code)
}
