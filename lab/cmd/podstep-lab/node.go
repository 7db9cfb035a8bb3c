package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/podstep/podstep/lab/simcri"
	"github.com/podstep/podstep/lab/simnode"
)

func kubelet(args []string) int { return simnode.Main(args) }

// containerRuntime simulates a container runtime until a signal ends it.
func containerRuntime(args []string) int {
	var o simcri.Options
	var address string
	fs := pflag.NewFlagSet("simcri", pflag.ContinueOnError)
	fs.StringVar(&o.Socket, "socket", "", "socket to serve")
	fs.StringVar(&o.Root, "root", "", "directory for its files")
	fs.StringVar(&o.CDI, "cdi-dir", "", "directory with CDI specs")
	fs.StringVar(&o.ScenarioFile, "scenario", "", "file that says how containers behave")
	fs.StringVar(&address, "node-address", "127.0.0.1", "address of pods on the host's network")
	err := fs.Parse(args)
	if err == nil {
		o.NodeAddress, err = netip.ParseAddr(address)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simcri:", err)
		return 2
	}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := serveRuntime(o); err != nil {
		fmt.Fprintln(os.Stderr, "simcri:", err)
		return 1
	}
	return 0
}

func serveRuntime(o simcri.Options) error {
	server, err := simcri.Listen(o)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	select {
	case <-signals:
		return server.Close()
	case err := <-served:
		return errors.Join(err, server.Close())
	}
}
