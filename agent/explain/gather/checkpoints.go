package gather

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// checkpoint is a file below the kubelet's root directory in which it remembers what it has decided.
type checkpoint struct {
	file, what string
	// parse notes what the file has of the pod with a UID. It gets the part in which the kubelet keeps what it has decided.
	parse func(part []byte, uid string, to *evidence.Checkpoints) error
}

var checkpoints = []checkpoint{
	{"allocated_pods_state", "the resources that the kubelet has allocated to containers", parseAllocated},
	{"actuated_pods_state", "the resources that the kubelet has set", parseActuated},
	{"cpu_manager_state", "the CPUs that belong to containers", parseCPUs},
	{"memory_manager_state", "the memory that belongs to containers", parseMemory},
	{"dra_manager_state", "the resource claims that are prepared", parseClaims},
	{"pod_status_manager_state", "the resources that the kubelet has allocated to containers, up to v1.32", parseAllocated},
	{"device-plugins/kubelet_internal_checkpoint", "the devices that belong to containers, without what the plugins answered", parseDevices},
}

// parseCheckpoint notes what the text of a checkpoint has of a pod. Most kubelets write what they have decided as JSON in a text
// with a checksum; the older ones, and the device manager, write it as it is.
func (c *checkpoint) parseCheckpoint(text []byte, uid string, to *evidence.Checkpoints) error {
	var outer struct{ Data json.RawMessage }
	if err := json.Unmarshal(text, &outer); err != nil {
		return fmt.Errorf("parse %s: %w", c.file, err)
	}
	part, inner := text, ""
	switch {
	case json.Unmarshal(outer.Data, &inner) == nil && inner != "":
		part = []byte(inner)
	case strings.HasPrefix(string(outer.Data), "{"):
		part = outer.Data
	}
	if err := c.parse(part, uid, to); err != nil {
		return fmt.Errorf("parse %s: %w", c.file, err)
	}
	to.Read = append(to.Read, c.file)
	return nil
}

// parseAllocated leaves what a newer file has: an update of the kubelet to v1.33 may leave the old one there.
func parseAllocated(part []byte, uid string, to *evidence.Checkpoints) (err error) {
	if to.Allocated != nil {
		return nil
	}
	to.Allocated, err = resourcesOf(part, uid)
	return err
}

func parseActuated(part []byte, uid string, to *evidence.Checkpoints) (err error) {
	to.Actuated, err = resourcesOf(part, uid)
	return err
}

// resourcesOf returns the resources of a pod's containers. From v1.33 on they are in entries, before in allocationEntries, and
// up to v1.31 there are requests alone.
func resourcesOf(part []byte, uid string) (map[string]corev1.ResourceRequirements, error) {
	var all struct {
		Entries map[string]struct {
			ContainerResources map[string]corev1.ResourceRequirements
		}
		AllocationEntries map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(part, &all); err != nil {
		return nil, err
	}
	out := map[string]corev1.ResourceRequirements{}
	for name, r := range all.Entries[uid].ContainerResources {
		out[message(name)] = shownResources(r)
	}
	for name, raw := range all.AllocationEntries[uid] {
		var r corev1.ResourceRequirements
		if json.Unmarshal(raw, &r) != nil || r.Requests == nil && r.Limits == nil {
			if err := json.Unmarshal(raw, &r.Requests); err != nil {
				return nil, err
			}
		}
		out[message(name)] = shownResources(r)
	}
	return out, nil
}

// shownResources returns requests and limits under names that are safe for a terminal.
func shownResources(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	safe := func(all corev1.ResourceList) (out corev1.ResourceList) {
		for name, q := range all {
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[corev1.ResourceName(message(string(name)))] = q
		}
		return out
	}
	return corev1.ResourceRequirements{Requests: safe(r.Requests), Limits: safe(r.Limits)}
}

func parseCPUs(part []byte, uid string, to *evidence.Checkpoints) error {
	var all struct{ Entries map[string]map[string]string }
	if err := json.Unmarshal(part, &all); err != nil {
		return err
	}
	for name, cpus := range all.Entries[uid] {
		put(&to.CPUs, message(name), message(cpus))
	}
	return nil
}

func parseMemory(part []byte, uid string, to *evidence.Checkpoints) error {
	type block struct {
		Type string
		Size uint64
	}
	var all struct{ Entries map[string]map[string][]block }
	if err := json.Unmarshal(part, &all); err != nil {
		return err
	}
	for name, blocks := range all.Entries[uid] {
		sizes := map[string]int64{}
		for _, b := range blocks {
			sizes[message(b.Type)] += int64(b.Size)
		}
		put(&to.Memory, message(name), sizes)
	}
	return nil
}

// parseClaims reads the claims of a pod. From v1.31 on they are in ClaimInfoStateList, before in entries.
func parseClaims(part []byte, uid string, to *evidence.Checkpoints) error {
	type claim struct {
		ClaimName string
		PodUIDs   map[string]struct{}
	}
	var all struct{ ClaimInfoStateList, Entries []claim }
	if err := json.Unmarshal(part, &all); err != nil {
		return err
	}
	for _, c := range slices.Concat(all.ClaimInfoStateList, all.Entries) {
		if _, ok := c.PodUIDs[uid]; ok {
			to.Claims = append(to.Claims, message(c.ClaimName))
		}
	}
	slices.Sort(to.Claims)
	return nil
}

// parseDevices reads the devices of a pod, which are listed by NUMA node.
func parseDevices(part []byte, uid string, to *evidence.Checkpoints) error {
	var all struct {
		PodDeviceEntries []struct {
			PodUID, ContainerName, ResourceName string
			DeviceIDs                           map[string][]string
		}
	}
	if err := json.Unmarshal(part, &all); err != nil {
		return err
	}
	for _, e := range all.PodDeviceEntries {
		if e.PodUID != uid {
			continue
		}
		var ids []string
		for _, some := range e.DeviceIDs {
			for _, id := range some {
				ids = append(ids, message(id))
			}
		}
		slices.Sort(ids)
		name := message(e.ContainerName)
		if to.Devices[name] == nil {
			put(&to.Devices, name, map[string][]string{})
		}
		to.Devices[name][message(e.ResourceName)] = ids
	}
	return nil
}

// parseUserNamespace returns the first of the node's user IDs that a pod's own user namespace has.
func parseUserNamespace(text []byte) (uint32, error) {
	var file struct {
		UIDMappings []struct{ HostID uint32 }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return 0, fmt.Errorf("parse userns: %w", err)
	}
	if len(file.UIDMappings) == 0 {
		return 0, nil
	}
	return file.UIDMappings[0].HostID, nil
}

// put sets an entry of a map, which may not have been made yet.
func put[V any](to *map[string]V, key string, v V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[key] = v
}
