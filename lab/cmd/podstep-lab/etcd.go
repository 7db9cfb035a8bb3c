package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcd serves until a signal ends it. Its only argument is an etcd configuration file.
func etcd(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "etcd wants one configuration file")
		return 2
	}
	config, err := embed.ConfigFromFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "read etcd configuration:", err)
		return 1
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start etcd:", err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-signals:
		server.Close()
		return 0
	case err := <-server.Err():
		fmt.Fprintln(os.Stderr, "serve etcd:", err)
		return 1
	}
}
