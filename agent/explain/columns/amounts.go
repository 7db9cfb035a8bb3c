package columns

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// amounts adds how much CPU and memory a container wants, has been promised, and has.
func (l *layout) amounts(name string) {
	for _, of := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		var cells [places]Cell
		for _, p := range []Place{API, Kubelet} {
			if c := specIn(l.object(p), name); c != nil {
				cells[p] = amountCell(&c.Resources, of)
				cells[p].Since = evidence.ResizedAt(l.object(p))
			}
		}
		if st := statusIn(l.status(API), name); st != nil && st.Resources != nil && cells[API].Compared() {
			cells[API].add(amountCell(st.Resources, of), words.Text("wants %s, has %s", "想要 %s，实有 %s"))
		}
		if l.Seen[Disk] {
			cells[Disk] = diskAmounts(l.s.Machine.Checkpoints, name, of)
		}
		if c := l.s.Runtime.Newest(name); c != nil && c.State == "running" && c.Limits != nil && !l.sharesPod() {
			cells[Runtime] = runtimeAmount(c, of, l.alone(name))
		}
		if !cells[API].Compared() && !cells[Kubelet].Compared() && !cells[Disk].Compared() {
			continue // nobody has asked for any
		}
		l.row(name, words.Same(string(of)), cells)
	}
}

// sharesPod reports whether the pod has resources of its own, from which its containers' limits come.
func (l *layout) sharesPod() bool {
	pod := l.s.Best()
	return pod == nil || pod.Spec.Resources != nil
}

// alone reports whether a container has CPUs of its own. The kubelet may leave it without a quota.
func (l *layout) alone(name string) bool {
	return l.Seen[Disk] && l.s.Machine.Checkpoints.CPUs[name] != ""
}

// amountCell returns a request and a limit as "request / limit", and as the kubelet converts them for the runtime. It is empty if
// there is neither.
func amountCell(r *corev1.ResourceRequirements, of corev1.ResourceName) Cell {
	request, limit := r.Requests[of], r.Limits[of]
	if request.IsZero() && limit.IsZero() {
		return Cell{}
	}
	out := Cell{Text: words.Same(shownAmount(request) + " / " + shownAmount(limit)), values: map[string]string{}}
	if of == corev1.ResourceCPU {
		out.values["request"] = strconv.FormatInt(shares(request.MilliValue()), 10)
		out.values["limit"] = strconv.FormatInt(milli(quota(limit.MilliValue()), period), 10)
		return out
	}
	out.values["bytes"] = strconv.FormatInt(request.Value(), 10)
	out.values["limit"] = strconv.FormatInt(limit.Value(), 10)
	return out
}

func shownAmount(q resource.Quantity) string {
	if q.IsZero() {
		return "-"
	}
	return q.String()
}

// add adds what the same place says elsewhere, if that is something else.
func (c *Cell) add(other Cell, both probes.Text) {
	if !other.Compared() || maps.Equal(c.values, other.values) {
		return
	}
	c.Text, c.torn = words.With(both, c.Text, other.Text), true
}

// diskAmounts returns what the kubelet has promised to a container, and what it has set.
func diskAmounts(c *evidence.Checkpoints, name string, of corev1.ResourceName) (out Cell) {
	if r, ok := c.Allocated[name]; ok {
		out = amountCell(&r, of)
	}
	if r, ok := c.Actuated[name]; ok && out.Compared() {
		out.add(amountCell(&r, of), words.Text("promised %s, set %s", "已分配 %s，已设置 %s"))
	}
	return out
}

// The kernel's numbers for CPUs, as pkg/kubelet/cm/helpers_linux.go of Kubernetes has them.
const (
	minShares = 2
	maxShares = 262144
	perCPU    = 1024
	period    = 100000 // microseconds
	minQuota  = 1000   // microseconds
)

// shares returns the shares of a request, in thousandths of a CPU.
func shares(request int64) int64 {
	return min(max(request*perCPU/1000, minShares), maxShares)
}

// quota returns the quota of a limit, in thousandths of a CPU; 0: there is none.
func quota(limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return max(limit*period/1000, minQuota)
}

// milli returns the limit of a quota, in thousandths of a CPU.
func milli(quota, period int64) int64 {
	if quota <= 0 || period <= 0 {
		return 0
	}
	return quota * 1000 / period
}

// runtimeAmount returns what the runtime has set for a container. A runtime without a period does not limit CPUs at all.
func runtimeAmount(c *evidence.Container, of corev1.ResourceName, alone bool) Cell {
	l := c.Limits
	if of == corev1.ResourceMemory {
		return cellOf(words.Same("- / "+shownAmount(*resource.NewQuantity(l.MemoryBytes, resource.BinarySI))), time.Time{}, "limit", strconv.FormatInt(l.MemoryBytes, 10))
	}
	out := Cell{values: map[string]string{}}
	request := "-"
	if l.CPUShares > 0 {
		request = shownAmount(*resource.NewMilliQuantity((l.CPUShares*1000+perCPU-1)/perCPU, resource.DecimalSI))
		out.values["request"] = strconv.FormatInt(l.CPUShares, 10)
	}
	limit := milli(l.CPUQuota, l.CPUPeriod)
	if l.CPUPeriod > 0 && !alone {
		out.values["limit"] = strconv.FormatInt(limit, 10)
	}
	out.Text = words.Same(request + " / " + shownAmount(*resource.NewMilliQuantity(limit, resource.DecimalSI)))
	return out
}

// devices adds how many devices of plugins a container wants, and which ones the kubelet has given it.
func (l *layout) devices(name string) {
	var cells [places]Cell
	spec := specIn(l.s.Best(), name)
	if spec == nil || l.s.Best().Status.ExtendedResourceClaimStatus != nil {
		return // claims have the devices
	}
	var names, wanted []string
	for of := range spec.Resources.Limits {
		if strings.Contains(string(of), "/") {
			names = append(names, string(of))
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	compared := map[string]string{}
	for _, of := range names {
		n := spec.Resources.Limits[corev1.ResourceName(of)]
		wanted, compared[of] = append(wanted, of+": "+n.String()), n.String()
	}
	cells[API] = Cell{Text: list(wanted)}
	if c := l.s.Machine; c != nil && l.Seen[Disk] && slices.Contains(c.Checkpoints.Read, "device-plugins/kubelet_internal_checkpoint") {
		given, has := []string{}, map[string]string{}
		for _, of := range names {
			ids := c.Checkpoints.Devices[name][of]
			given, has[of] = append(given, ids...), strconv.Itoa(len(ids))
		}
		cells[Disk] = Cell{Text: orNone(list(given))}
		if l.running() {
			cells[API].values, cells[Disk].values = compared, has
		}
	}
	l.row(name, words.Text("devices", "设备"), cells)
}
