// Package simnode runs the kubelet's own code on a simulated machine: without root, without cgroups and mounts, and
// with nothing of the real machine changed. Pods, volumes, health probes, status and events are the kubelet's own.
// docs/lab.md lists the exceptions.
//
// It runs in a process of its own, which podstep-lab starts: a kubelet has global state and calls os.Exit.
package simnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	"k8s.io/kubernetes/pkg/util/filesystem"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/mount-utils"

	"github.com/podstep/podstep/agent/host"
	"github.com/podstep/podstep/lab/filefaults"
	"github.com/podstep/podstep/lab/whatif"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// skipped are the functions that cannot work on a simulated machine. They return at once; the comments have the
// consequence.
var skipped = []string{
	"boot.oomwatcher", // no watcher: /dev/kmsg needs root, and would report on the real machine
	"boot.nodeip",     // every address is fine: the node's is 127.0.0.1
}

// flags are the flags that a kubelet does not have.
type flags struct {
	agent         string // socket of the agent
	containerLogs string // in place of /var/log/containers
	cgroups       string // in place of /sys/fs/cgroup
	pressure      string // the file for package pressure
	files         string // socket at which file operations are offered; empty: they are not
}

func (f *flags) addTo(fs *pflag.FlagSet) {
	fs.StringVar(&f.agent, "agent", "", "socket of the agent")
	fs.StringVar(&f.containerLogs, "container-logs-dir", "", "directory for links to the logs of containers")
	fs.StringVar(&f.cgroups, "cgroups-dir", "", "directory that simulates the cgroup file system")
	fs.StringVar(&f.pressure, "pressure-file", "", "file that says what the node runs short of")
	fs.StringVar(&f.files, "offer-files", "", "socket at which the kubelet offers its file operations to somebody who may break them")
}

// Main runs the kubelet with its own flags and ours, until a signal ends it. It returns the exit code.
func Main(args []string) int {
	var f flags
	kubeletFlags := options.NewKubeletFlags()
	fs := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	kubeletFlags.AddFlags(fs)
	f.addTo(fs)
	if err := fs.Parse(args); err != nil {
		return fail(2, err)
	}
	if f.files != "" {
		if err := filefaults.Offer(f.files); err != nil {
			return fail(1, err)
		}
	}
	stop, err := startAgent(f, kubeletFlags.HostnameOverride)
	if err != nil {
		return fail(1, err)
	}
	defer stop()
	// This is the kubelet's own command, except for what it runs.
	command := app.NewKubeletCommand(context.Background())
	command.SetArgs([]string{})
	command.RunE = func(*cobra.Command, []string) error { return run(f, kubeletFlags) }
	return cli.Run(command)
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "podstep-lab kubelet:", err)
	return code
}

// startAgent starts the agent and disables the functions that cannot work here.
func startAgent(f flags, node string) (stop func(), err error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	stop, err = host.Start(host.Options{
		KubeletVersion: version.Get().GitVersion, Node: node, Lab: true, Socket: f.agent,
		Form: whatif.Form, Warn: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "podstep: "+format+"\n", args...) },
	})
	if err != nil {
		return nil, err
	}
	for _, name := range skipped {
		s := c.Step(name)
		if s == nil || !s.Skip {
			return nil, fmt.Errorf("start kubelet: the catalogue has no step %q that can be skipped", name)
		}
		hook.Skip(s.ID)
	}
	return stop, nil
}

// run does what the kubelet's command does after it has read its flags.
func run(f flags, kubeletFlags *options.KubeletFlags) error {
	ctx := genericapiserver.SetupSignalContext()
	gate := utilfeature.DefaultFeatureGate
	config, err := load(ctx, kubeletFlags.KubeletConfigFile)
	if err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(config.FeatureGates); err != nil {
		return fmt.Errorf("set feature gates: %w", err)
	}
	logs.InitLogs()
	if err := logsapi.ValidateAndApplyAsField(&config.Logging, gate, field.NewPath("logging")); err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	server := &options.KubeletServer{KubeletFlags: *kubeletFlags, KubeletConfiguration: *config}
	deps, err := app.UnsecuredDependencies(ctx, server, gate)
	if err != nil {
		return fmt.Errorf("construct dependencies: %w", err)
	}
	if err := simulate(deps, f, server); err != nil {
		return err
	}
	return app.Run(ctx, server, deps, gate)
}

func load(ctx context.Context, file string) (*kubeletconfig.KubeletConfiguration, error) {
	if file == "" {
		return nil, errors.New("load kubelet configuration: which file? --config FILE")
	}
	loader, err := configfiles.NewFsLoader(&filesystem.DefaultFs{}, file)
	if err != nil {
		return nil, fmt.Errorf("load kubelet configuration: %w", err)
	}
	config, err := loader.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load kubelet configuration: %w", err)
	}
	return config, nil
}

// simulate puts the simulated machine in place of the real one.
func simulate(deps *kubelet.Dependencies, f flags, server *options.KubeletServer) error {
	machine := &machine{root: server.RootDirectory, pressure: f.pressure}
	containers, err := newContainerManager(machine, f.cgroups, server)
	if err != nil {
		return err
	}
	fake := mount.NewFakeMounter(nil)
	deps.CAdvisorInterface = machine
	deps.ContainerManager = containers
	deps.OOMAdjuster = oom.NewFakeOOMAdjuster()
	deps.Mounter = &mounter{fake}
	deps.HostUtil = hostUtil{deps.HostUtil}
	deps.Subpather = subpather{deps.Subpather}
	deps.OSInterface = system{logs: f.containerLogs}
	kubelet.ContainerLogsDir = filepath.Clean(f.containerLogs)
	return nil
}
