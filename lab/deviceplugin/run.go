package deviceplugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/podstep/podstep/lab/plugin"
)

// Options say which devices there are, and where.
type Options struct {
	plugin.Place
	Devices int // how many devices the node has
	// Anew makes the plugin begin anew, as one that is started again does.
	Anew <-chan os.Signal
}

// Dir returns the directory in which a kubelet listens for device plugins.
func Dir(kubelet string) string { return filepath.Join(kubelet, "device-plugins") }

// kubeletSocket is the kubelet's own socket there.
const kubeletSocket = "kubelet.sock"

// How often the plugin looks for another socket of the kubelet, and how long the kubelet may take to register it.
const (
	lookEvery      = 300 * time.Millisecond
	registerWithin = 20 * time.Second
)

// Run serves the kubelet until ctx ends. It registers with each kubelet that comes, since a kubelet that is started again
// knows no plugin.
func Run(ctx context.Context, o Options) error {
	if err := os.MkdirAll(filepath.Dir(o.Socket), 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for ctx.Err() == nil {
		if err := o.serve(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serve serves the kubelet until ctx ends or the plugin is to begin anew.
func (o *Options) serve(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	listener, err := plugin.Listen(ctx, o.Socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(s, &server{devices: o.Devices, ends: ctx.Done()})
	go func() {
		if err := s.Serve(listener); err != nil {
			fail(fmt.Errorf("serve %s: %w", o.Socket, err))
		}
	}()
	defer s.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var registered os.FileInfo
	for {
		select {
		case <-tick.C: // the kubelet has time to see that an earlier connection is over, which would take the new one with it
			registered = o.registered(ctx, registered)
		case <-o.Anew:
			return nil
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}

// registered registers with the kubelet unless this is done, and returns the socket of the kubelet that knows the plugin.
// nil: none does.
func (o *Options) registered(ctx context.Context, with os.FileInfo) os.FileInfo {
	now, err := os.Stat(filepath.Join(Dir(o.Kubelet), kubeletSocket))
	if err != nil {
		return nil // there is no kubelet
	}
	if with != nil && os.SameFile(now, with) && now.ModTime().Equal(with.ModTime()) {
		return with
	}
	if err := o.register(ctx); err != nil {
		klog.ErrorS(err, "Not registered")
		return nil
	}
	klog.InfoS("Registered", "resource", Resource, "devices", o.Devices)
	return now
}

// register makes the plugin known to the kubelet, which takes the plugin's socket relative to its own.
func (o *Options) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registerWithin)
	defer cancel()
	endpoint, err := filepath.Rel(Dir(o.Kubelet), o.Called)
	if err != nil {
		return fmt.Errorf("find the plugin's socket: %w", err)
	}
	conn, err := grpc.NewClient("unix://"+filepath.Join(Dir(o.Kubelet), kubeletSocket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the kubelet: %w", err)
	}
	defer conn.Close()
	_, err = pluginapi.NewRegistrationClient(conn).Register(ctx, &pluginapi.RegisterRequest{Version: pluginapi.Version, Endpoint: endpoint, ResourceName: Resource})
	if err != nil {
		return fmt.Errorf("register with the kubelet: %w", err)
	}
	return nil
}
