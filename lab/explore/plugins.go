package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/podstep/podstep/lab/csidriver"
	"github.com/podstep/podstep/lab/dradriver"
	"github.com/podstep/podstep/lab/faults"
)

// PluginDevices is how many devices the node must have: one for each pod that is tried, and some for those that end.
const PluginDevices = 100

// plugins are what the pods of a life use of plugins.
type plugins struct {
	// about reports which calls are broken. Those about the rest of a pod are broken in other lives.
	about func(faults.Call) bool
	// make makes what the pod of a namespace needs, and drop takes it away.
	make, drop func(context.Context, *Node, string) error
}

// drivers are a DRA and a CSI driver.
var drivers = plugins{about: aboutDrivers, make: makeForDrivers, drop: dropForDrivers}

// The objects that a pod with plugins uses.
const (
	deviceClaim = "device"
	volumeClaim = "data"
)

// usesDrivers gives a pod a device of a DRA driver, and a volume of a CSI driver.
func usesDrivers(p *corev1.Pod) {
	device := deviceClaim
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: device, ResourceClaimName: &device}}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volumeClaim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volumeClaim}}})
	app := &p.Spec.Containers[0]
	app.Resources.Claims = []corev1.ResourceClaim{{Name: device}}
	app.VolumeMounts = append(slices.Clone(app.VolumeMounts), corev1.VolumeMount{Name: volumeClaim, MountPath: "/data"})
}

// makeForDrivers makes the claims of a pod with plugins, and the volume, which has the name of the namespace.
func makeForDrivers(ctx context.Context, n *Node, namespace string) error {
	n.Table.Learn(namespace, namespace)
	options, size := metav1.CreateOptions{}, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	device := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: deviceClaim}}
	device.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "one", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: dradriver.Name}}}
	if _, err := n.Client.ResourceV1().ResourceClaims(namespace).Create(ctx, device, options); err != nil {
		return fmt.Errorf("create ResourceClaim: %w", err)
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef: &corev1.ObjectReference{Namespace: namespace, Name: volumeClaim},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			Driver: csidriver.Name, VolumeHandle: namespace}},
	}}
	if _, err := n.Client.CoreV1().PersistentVolumes().Create(ctx, volume, options); err != nil {
		return fmt.Errorf("create PersistentVolume: %w", err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: volumeClaim}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, StorageClassName: new(""), VolumeName: namespace, Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	if _, err := n.Client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, claim, options); err != nil {
		return fmt.Errorf("create PersistentVolumeClaim: %w", err)
	}
	return nil
}

// dropForDrivers drops what makeForDrivers made.
func dropForDrivers(ctx context.Context, n *Node, namespace string) error {
	options := metav1.DeleteOptions{}
	return errors.Join(
		n.takeBack(ctx, namespace),
		n.Client.ResourceV1().ResourceClaims(namespace).Delete(ctx, deviceClaim, options),
		n.Client.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, volumeClaim, options),
		n.Client.CoreV1().PersistentVolumes().Delete(ctx, namespace, options))
}

// takeBack has the driver take the device back, whatever the kubelet made of it: the scheduler gives it to another pod, which
// would be harmed by a fault that is over.
func (n *Node) takeBack(ctx context.Context, namespace string) error {
	claim, err := n.Client.ResourceV1().ResourceClaims(namespace).Get(ctx, deviceClaim, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ResourceClaim: %w", err)
	}
	conn, err := grpc.NewClient("unix://"+n.Devices, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the DRA driver: %w", err)
	}
	defer conn.Close()
	request := &drapb.NodeUnprepareResourcesRequest{Claims: []*drapb.Claim{{Namespace: namespace, Name: deviceClaim, Uid: string(claim.UID)}}}
	if _, err := drapb.NewDRAPluginClient(conn).NodeUnprepareResources(ctx, request); err != nil {
		return fmt.Errorf("take the device back: %w", err)
	}
	return nil
}

// aboutDrivers reports whether a call is about what drivers do.
func aboutDrivers(c faults.Call) bool {
	return c.Side == faults.Plugin && !slices.Contains(deviceCalls, c.Method) || slices.Contains([]string{"get resourceclaims", "get persistentvolumeclaims", "get persistentvolumes"}, c.Method)
}

// nextPod marks the second of two pods.
const nextPod = "explore.podstep.dev/next"

// replacePod deletes the pod and, when it is gone, creates the next one, which takes its device and its volume.
func replacePod(ctx context.Context, n *Node, namespace string) error {
	if err := deletePod(ctx, n, namespace); err != nil {
		return err
	}
	if err := until(ctx, beginWithin, func() bool { return n.pod(namespace, podName) == nil }); err != nil {
		return fmt.Errorf("the first pod is not gone: %w", err)
	}
	next := pod(namespace)
	usesDrivers(next)
	next.Annotations[nextPod] = "true"
	return n.create(ctx, next)
}

func nextIsReady(p *corev1.Pod) bool { return ready(p) && p.Annotations[nextPod] != "" }
