package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/podstep/podstep/lab/credentials"
	"github.com/podstep/podstep/lab/csidriver"
	"github.com/podstep/podstep/lab/deviceplugin"
	"github.com/podstep/podstep/lab/dradriver"
)

// deviceDriver serves a kubelet as DRA driver until a signal ends it.
func deviceDriver(args []string) int {
	var o dradriver.Options
	fs := pflag.NewFlagSet("dra-driver", pflag.ContinueOnError)
	o.AddTo(fs)
	fs.IntVar(&o.Devices, "devices", 1, "how many devices the node has")
	fs.StringVar(&o.CDI, "cdi-dir", "", "directory for CDI specs")
	return driver(fs, args, func(ctx context.Context) error { return dradriver.Run(ctx, o) })
}

// storageDriver serves a kubelet as CSI driver until a signal ends it.
func storageDriver(args []string) int {
	var o csidriver.Options
	fs := pflag.NewFlagSet("csi-driver", pflag.ContinueOnError)
	o.AddTo(fs)
	fs.StringVar(&o.Dir, "dir", "", "directory for volumes")
	return driver(fs, args, func(ctx context.Context) error { return csidriver.Run(ctx, o) })
}

// devicePlugin serves a kubelet as device plugin until a signal ends it.
func devicePlugin(args []string) int {
	var o deviceplugin.Options
	fs := pflag.NewFlagSet("device-plugin", pflag.ContinueOnError)
	o.AddTo(fs)
	fs.IntVar(&o.Devices, "devices", 1, "how many devices the node has")
	anew := make(chan os.Signal, 1)
	signal.Notify(anew, syscall.SIGHUP)
	o.Anew = anew
	return driver(fs, args, func(ctx context.Context) error { return deviceplugin.Run(ctx, o) })
}

// credentialPlugin gives a kubelet the credentials for an image.
func credentialPlugin(args []string) int {
	fs := pflag.NewFlagSet("credential-plugin", pflag.ContinueOnError)
	socket := fs.String("socket", "", "socket at which the plugin asks")
	if err := fs.Parse(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", fs.Name(), err)
		return 2
	}
	return credentials.Run(*socket, os.Stdin, os.Stdout, os.Stderr)
}

// driver reads a driver's flags and runs the driver until a signal ends it. It returns the exit code.
func driver(fs *pflag.FlagSet, args []string, run func(context.Context) error) int {
	if err := fs.Parse(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", fs.Name(), err)
		return 2
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", fs.Name(), err)
		return 1
	}
	return 0
}
