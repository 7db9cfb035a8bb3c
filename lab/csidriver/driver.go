// Package csidriver is a CSI driver for labs: a plugin of the kubelet that registers, stages volumes and publishes them
// for pods, as the driver of real storage does. A volume is a directory. To publish one is to make a link to it, since a
// sim lab mounts nothing.
//
// It runs in a process of its own, which podstep-lab starts: a person may kill it, and see what becomes of pods.
package csidriver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// Name is the name of the driver.
const Name = "storage.podstep.dev"

// driver answers the kubelet. All that it has to remember is in its directory, so that it may be killed and started
// again:
//
//	volumes/ID    the content of a volume
//	ephemeral/ID  the content of a volume that lives as long as its pod
//	staged/ID     an empty file for a volume that is staged
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	node, dir string
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	stages := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{{Type: &csi.NodeServiceCapability_Rpc{Rpc: stages}}}}, nil
}

// NodeStageVolume makes a volume ready on the node.
func (d *driver) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	err := d.check("stage", r.GetVolumeId(), r.GetStagingTargetPath())
	if err == nil {
		err = d.stage(r.GetVolumeId())
	}
	return &csi.NodeStageVolumeResponse{}, done("stage", r.GetVolumeId(), err)
}

func (d *driver) stage(id string) error {
	if err := os.MkdirAll(d.path("volumes", id), 0o777); err != nil {
		return fmt.Errorf("make volume: %w", err)
	}
	if err := os.WriteFile(d.path("staged", id), nil, 0o600); err != nil {
		return fmt.Errorf("note that the volume is staged: %w", err)
	}
	return nil
}

// NodeUnstageVolume ends what NodeStageVolume did. The volume keeps its content. The kubelet may ask twice.
func (d *driver) NodeUnstageVolume(_ context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	err := d.check("unstage", r.GetVolumeId(), r.GetStagingTargetPath())
	if err == nil {
		err = removed(os.Remove(d.path("staged", r.GetVolumeId())))
	}
	return &csi.NodeUnstageVolumeResponse{}, done("unstage", r.GetVolumeId(), err)
}

// ephemeral is the part of a volume's context by which the kubelet marks a volume that a pod's specification describes.
const ephemeral = "csi.storage.k8s.io/ephemeral"

// NodePublishVolume shows a volume to a pod, at the path that the kubelet names.
func (d *driver) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	err := d.check("publish", r.GetVolumeId(), r.GetTargetPath())
	if err == nil {
		err = d.publish(r.GetVolumeId(), r.GetTargetPath(), r.GetVolumeContext()[ephemeral] == "true")
	}
	return &csi.NodePublishVolumeResponse{}, done("publish", r.GetVolumeId(), err)
}

func (d *driver) publish(id, target string, ephemeral bool) error {
	content := d.path("volumes", id)
	if ephemeral {
		content = d.path("ephemeral", id)
		if err := os.MkdirAll(content, 0o777); err != nil {
			return fmt.Errorf("make volume: %w", err)
		}
	} else if _, err := os.Stat(d.path("staged", id)); err != nil {
		return status.Error(codes.FailedPrecondition, "the volume is not staged")
	}
	if at, err := os.Readlink(target); err == nil && at == content {
		return nil // the kubelet asks a second time
	}
	if err := os.Symlink(content, target); err != nil {
		return fmt.Errorf("link volume: %w", err)
	}
	return nil
}

// NodeUnpublishVolume ends what NodePublishVolume did. The kubelet may ask twice.
func (d *driver) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	err := d.check("unpublish", r.GetVolumeId(), r.GetTargetPath())
	if err == nil {
		err = errors.Join(removed(os.Remove(r.GetTargetPath())), os.RemoveAll(d.path("ephemeral", r.GetVolumeId())))
	}
	return &csi.NodeUnpublishVolumeResponse{}, done("unpublish", r.GetVolumeId(), err)
}

func (d *driver) path(kind, id string) string { return filepath.Join(d.dir, kind, id) }

// check refuses what is no request of a kubelet: a volume's ID becomes the name of a file.
func (d *driver) check(verb, id, target string) error {
	switch {
	case id == "" || id == "." || id == ".." || strings.ContainsRune(id, filepath.Separator):
		return status.Errorf(codes.InvalidArgument, "%s volume: %q cannot be a volume's ID", verb, id)
	case !filepath.IsAbs(target):
		return status.Errorf(codes.InvalidArgument, "%s volume: the path %q is not absolute", verb, target)
	}
	return nil
}

// removed returns nil for a file that was gone already.
func removed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// done logs what came of a request, and gives an error its code.
func done(verb, id string, err error) error {
	klog.InfoS("Asked to "+verb, "volume", id, "err", err)
	if _, has := status.FromError(err); has {
		return err
	}
	return status.Errorf(codes.Internal, "%s volume %s: %v", verb, id, err)
}
