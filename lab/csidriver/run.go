package csidriver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Options state what the driver serves, and where.
type Options struct {
	Node       string // name of the node
	Kubeconfig string // file by which the API server is reached
	Kubelet    string // the kubelet's root directory
	Socket     string // the driver's socket
	Called     string // socket that the kubelet is to call; other than Socket if something stands between
	Dir        string // directory for the volumes
}

// Run serves the kubelet until ctx ends.
func Run(ctx context.Context, o Options) error {
	if err := createDriver(ctx, o.Kubeconfig); err != nil {
		return err
	}
	registry := filepath.Join(o.Kubelet, "plugins_registry")
	dirs := []string{registry, filepath.Dir(o.Socket)}
	for _, kind := range []string{"volumes", "ephemeral", "staged"} {
		dirs = append(dirs, filepath.Join(o.Dir, kind))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d := &driver{node: o.Node, dir: o.Dir}
	stop, err := serve(o.Socket, fail, func(s *grpc.Server) {
		csi.RegisterIdentityServer(s, d)
		csi.RegisterNodeServer(s, d)
	})
	if err != nil {
		return err
	}
	defer stop()
	// The kubelet calls the driver as soon as it finds this socket.
	stop, err = serve(filepath.Join(registry, "csi.sock"), fail, func(s *grpc.Server) {
		registerapi.RegisterRegistrationServer(s, &registration{called: o.Called, fail: fail})
	})
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// serve serves a socket. A socket that an earlier driver has left is replaced.
func serve(socket string, fail context.CancelCauseFunc, add func(*grpc.Server)) (stop func(), err error) {
	if err := removed(os.Remove(socket)); err != nil {
		return nil, fmt.Errorf("remove earlier socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	server := grpc.NewServer()
	add(server)
	go func() {
		if err := server.Serve(listener); err != nil {
			fail(fmt.Errorf("serve %s: %w", socket, err))
		}
	}()
	return server.Stop, nil
}

// registration answers the kubelet's plugin manager.
type registration struct {
	registerapi.UnimplementedRegistrationServer
	called string
	fail   context.CancelCauseFunc
}

func (r *registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: Name, Endpoint: r.called, SupportedVersions: []string{"1.0.0"}}, nil
}

func (r *registration) NotifyRegistrationStatus(_ context.Context, s *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	if !s.GetPluginRegistered() {
		r.fail(fmt.Errorf("register with the kubelet: %s", s.GetError()))
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}

// createDriver describes the driver to the cluster: its volumes need no attaching, and a pod may describe one itself.
func createDriver(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	_, err = client.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired:       new(false),
			PodInfoOnMount:       new(true),
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CSIDriver: %w", err)
	}
	return nil
}
