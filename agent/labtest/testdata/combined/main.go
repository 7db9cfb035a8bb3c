// Combined is a program for tests: the kubelet in one program with another command of Kubernetes, as in k3s or MicroK8s. The
// kubelet's command runs on a goroutine of its own. It takes the kubelet's flags; with "proxy" before them it takes kube-proxy's.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"

	"github.com/spf13/cobra"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	args, newCommand := os.Args[1:], any(kubelet.NewKubeletCommand)
	if len(args) > 0 && args[0] == "proxy" {
		args, newCommand = args[1:], proxy.NewProxyCommand
	}
	ended := make(chan error)
	go serve(ended)
	go func() {
		command := commandOf(newCommand)
		command.SetArgs(args)
		ended <- command.Execute()
	}()
	if err := <-ended; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// commandOf calls a function that makes a command. The kubelet's takes a context since v1.32.
func commandOf(newCommand any) *cobra.Command {
	f := reflect.ValueOf(newCommand)
	var in []reflect.Value
	if f.Type().NumIn() == 1 {
		in = append(in, reflect.ValueOf(context.Background()))
	}
	return f.Call(in)[0].Interface().(*cobra.Command)
}

// serve is the other part of the program: a server that is no kubelet's.
func serve(ended chan<- error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = http.Serve(l, http.NotFoundHandler())
	}
	ended <- err
}
