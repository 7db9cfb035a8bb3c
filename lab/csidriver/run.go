package csidriver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/podstep/podstep/lab/plugin"
)

// Options state where the driver serves, and where its volumes are.
type Options struct {
	plugin.Place
	Dir string // directory for the volumes
}

// Run serves the kubelet until ctx ends.
func Run(ctx context.Context, o Options) error {
	client, err := o.Client()
	if err != nil {
		return err
	}
	if err := createDriver(ctx, client); err != nil {
		return err
	}
	d := &driver{node: o.Node, dir: o.Dir}
	if err := o.MakeDirs(d.path("volumes", ""), d.path("ephemeral", ""), d.path("staged", "")); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stop, err := serve(ctx, o.Socket, fail, func(s *grpc.Server) {
		csi.RegisterIdentityServer(s, d)
		csi.RegisterNodeServer(s, d)
	})
	if err != nil {
		return err
	}
	defer stop()
	// The kubelet calls the driver as soon as it finds this socket.
	stop, err = serve(ctx, filepath.Join(o.Registry(), "csi.sock"), fail, func(s *grpc.Server) {
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

// serve serves a socket.
func serve(ctx context.Context, socket string, fail context.CancelCauseFunc, add func(*grpc.Server)) (stop func(), err error) {
	listener, err := plugin.Listen(ctx, socket)
	if err != nil {
		return nil, err
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
func createDriver(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
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
