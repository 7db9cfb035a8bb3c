package columns

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// pod adds the rows about the pod as a whole.
func (l *layout) pod() {
	l.presence()
	l.generation()
	l.deletion()
	l.phase()
	l.ready()
	l.sandbox()
	l.address()
	l.volumes()
	l.claims()
	l.userNamespace()
}

// presence adds who has the pod at all. Runtime and disk count only where they must have something, or must not.
func (l *layout) presence() {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		has := l.object(p) != nil || p == Kubelet && l.s.Kubelet != nil && l.s.Kubelet.HasPod != nil && *l.s.Kubelet.HasPod
		if l.Seen[p] {
			cells[p] = cellOf(no, time.Time{}, "there", "no")
		}
		if has {
			cells[p] = cellOf(yes, l.cameTo(p), "there", "yes")
		}
	}
	if r := l.s.Runtime; r != nil {
		switch made := len(r.Sandboxes) + len(r.Containers); {
		case made > 0:
			cells[Runtime] = cellOf(words.With(words.Text("sandboxes: %d, containers: %d", "沙箱 %d 个，容器 %d 个"), len(r.Sandboxes), len(r.Containers)), time.Time{}, "there", "yes")
		case l.running():
			cells[Runtime] = cellOf(no, time.Time{}, "there", "no")
		default:
			cells[Runtime] = Cell{Text: no}
		}
	}
	if m := l.s.Machine; m != nil && l.Seen[Disk] {
		cells[Disk] = Cell{Text: no}
		if m.Cgroup != nil || len(m.VolumeDirs)+len(m.Mounts) > 0 {
			cells[Disk] = cellOf(yes, time.Time{}, "there", "yes")
		}
	}
	l.row("", words.Text("the pod", "Pod"), cells)
}

// cameTo returns when the pod came to a place; zero: that is not known. At the API server it concerns the node once it is bound.
func (l *layout) cameTo(p Place) time.Time {
	switch pod := l.object(p); {
	case pod == nil:
		return time.Time{}
	case p == API:
		if c := evidence.ConditionIn(&pod.Status, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
		return pod.CreationTimestamp.Time
	default:
		seen, _ := time.Parse(time.RFC3339Nano, pod.Annotations[probes.AnnotationSeen])
		return seen
	}
}

// generation adds which version of the spec the two have. A mirror and its static pod count each for itself.
func (l *layout) generation() {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		pod := l.object(p)
		if pod == nil || pod.Generation == 0 || isStatic(pod) {
			continue
		}
		text := words.With(words.Text("generation %d", "第 %d 代"), int(pod.Generation))
		if st := l.status(p); st != nil && st.ObservedGeneration != 0 && st.ObservedGeneration != pod.Generation {
			text = words.With(words.Text("generation %d, status of %d", "第 %d 代，状态属于第 %d 代"), int(pod.Generation), int(st.ObservedGeneration))
		}
		cells[p] = cellOf(text, evidence.ResizedAt(pod), "generation", strconv.FormatInt(pod.Generation, 10))
	}
	l.row("", words.Text("spec", "规格"), cells)
}

// deletion adds who knows that the pod is to go.
func (l *layout) deletion() {
	var cells [places]Cell
	asked := false
	for _, p := range []Place{API, Kubelet} {
		switch pod := l.object(p); {
		case pod == nil:
		case pod.DeletionTimestamp == nil:
			cells[p] = cellOf(no, time.Time{}, "deletion", "no")
		default:
			grace := time.Duration(0)
			if s := pod.DeletionGracePeriodSeconds; s != nil {
				grace = time.Duration(*s) * time.Second
			}
			asked = true
			cells[p] = cellOf(words.With(words.Text("%s of grace", "宽限 %s"), words.Took(grace)), pod.DeletionTimestamp.Add(-grace), "deletion", "yes")
		}
	}
	if asked {
		l.row("", words.Text("deletion", "删除"), cells)
	}
}

// phase adds the pod's phase. An agent knows which one the kubelet set last.
func (l *layout) phase() {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		if st := l.status(p); st != nil && st.Phase != "" {
			text := string(st.Phase)
			if st.Reason != "" {
				text += " (" + words.OneLine(st.Reason) + ")"
			}
			cells[p] = cellOf(words.Same(text), time.Time{}, "phase", string(st.Phase))
			cells[p].news = changedAt(st)
		}
	}
	if story := l.s.Story; story != nil && !story.StatusAt.IsZero() && !cells[Kubelet].Compared() {
		cells[Kubelet] = cellOf(words.Same(story.Phase), time.Time{}, "phase", story.Phase)
		cells[Kubelet].news = story.StatusAt
	}
	l.statusRow("", words.Text("phase", "阶段"), cells)
}

// changedAt returns when a status last changed, as far as it has times.
func changedAt(st *corev1.PodStatus) (at time.Time) {
	for i := range st.Conditions {
		if t := st.Conditions[i].LastTransitionTime.Time; t.After(at) {
			at = t
		}
	}
	for i := range st.ContainerStatuses {
		if c := stateCell(&st.ContainerStatuses[i]); c.Since.After(at) {
			at = c.Since
		}
	}
	return at
}

func (l *layout) ready() {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		if c := evidence.ConditionIn(l.status(p), corev1.PodReady); c != nil {
			cells[p] = conditionCell(c, "ready")
		}
	}
	l.statusRow("", words.Text("ready", "就绪"), cells)
}

func conditionCell(c *corev1.PodCondition, name string) Cell {
	text := yes
	if c.Status != corev1.ConditionTrue {
		text = words.With(words.Text("no (%s)", "没有（%s）"), cmp.Or(words.OneLine(c.Reason), string(c.Status)))
	}
	return cellOf(text, c.LastTransitionTime.Time, name, string(c.Status))
}

// sandbox adds whether the pod's sandbox is ready, and how many processes its cgroup has.
func (l *layout) sandbox() {
	var cells [places]Cell
	for _, p := range []Place{API, Kubelet} {
		if c := evidence.ConditionIn(l.status(p), corev1.PodReadyToStartContainers); c != nil {
			cells[p] = conditionCell(c, "sandbox")
		}
	}
	alive := "no"
	if r := l.s.Runtime; r != nil {
		cells[Runtime] = cellOf(none, time.Time{}, "sandbox", string(corev1.ConditionFalse))
		if len(r.Sandboxes) > 0 {
			b := r.Sandboxes[0]
			cells[Runtime] = cellOf(words.Text("not ready", "未就绪"), time.Time{}, "sandbox", string(corev1.ConditionFalse))
			if b.Ready {
				alive = "yes"
				cells[Runtime] = cellOf(yes, b.Created, "sandbox", string(corev1.ConditionTrue))
			}
		}
		for i := range r.Containers {
			if r.Containers[i].State == "running" {
				alive = "yes"
			}
		}
		cells[Runtime].values["processes"] = alive
	}
	if m := l.s.Machine; m != nil && m.Cgroup != nil {
		has := "no"
		if m.Cgroup.Processes > 0 {
			has = "yes"
		}
		cells[Disk] = cellOf(words.With(words.Text("processes: %d", "进程 %d 个"), m.Cgroup.Processes), time.Time{}, "processes", has)
	}
	l.statusRow("", words.Text("sandbox", "沙箱"), cells)
}

// address adds the pod's address. On the node's network the runtime has none.
func (l *layout) address() {
	var cells [places]Cell
	if pod := l.s.Best(); pod == nil || pod.Spec.HostNetwork {
		return
	}
	for _, p := range []Place{API, Kubelet} {
		if st := l.status(p); st != nil && st.PodIP != "" {
			cells[p] = cellOf(words.Same(st.PodIP), time.Time{}, "address", st.PodIP)
		}
	}
	if r := l.s.Runtime; r != nil && len(r.Sandboxes) > 0 && r.Sandboxes[0].Ready && r.Sandboxes[0].IP != "" {
		cells[Runtime] = cellOf(words.Same(r.Sandboxes[0].IP), r.Sandboxes[0].Created, "address", r.Sandboxes[0].IP)
	}
	l.statusRow("", words.Text("address", "地址"), cells)
}

// volumes adds the volumes that must have a directory. They are compared if the pod runs: then each must be there.
func (l *layout) volumes() {
	var cells [places]Cell
	var wanted []corev1.Volume
	if pod := l.s.Best(); pod != nil {
		wanted = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool { return l.dirOf(&v) == "" })
	}
	names, compared := []string{}, map[string]string{}
	for i := range wanted {
		names, compared[wanted[i].Name] = append(names, wanted[i].Name), "yes"
	}
	if len(names) == 0 {
		return
	}
	cells[API] = Cell{Text: list(names)}
	if m := l.s.Machine; m != nil && l.Seen[Disk] {
		has, found := map[string]string{}, []string{}
		for i := range wanted {
			has[wanted[i].Name] = "no"
			if slices.ContainsFunc(m.VolumeDirs, func(dir string) bool { return path.Base(dir) == l.dirOf(&wanted[i]) }) {
				has[wanted[i].Name], found = "yes", append(found, wanted[i].Name)
			}
		}
		cells[Disk] = Cell{Text: orNone(list(found))}
		if l.running() {
			cells[API].values, cells[Disk].values = compared, has
		}
	}
	l.row("", words.Text("volumes", "卷"), cells)
}

// dirOf returns the name of a volume's directory below the pod's; empty: it has none, or that is not known. A claim's directory
// has the name of its volume.
func (l *layout) dirOf(v *corev1.Volume) string {
	claim := ""
	switch {
	case v.HostPath != nil || v.Image != nil:
		return ""
	case v.PersistentVolumeClaim != nil:
		claim = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		claim = l.s.Name.Name + "-" + v.Name
	default:
		return v.Name
	}
	for i := range l.s.Cluster.Claims {
		if c := &l.s.Cluster.Claims[i]; c.Name == claim && (c.Spec.VolumeMode == nil || *c.Spec.VolumeMode == corev1.PersistentVolumeFilesystem) {
			return c.Spec.VolumeName
		}
	}
	return ""
}

func orNone(t probes.Text) probes.Text {
	if t == (probes.Text{}) {
		return none
	}
	return t
}

// claims adds the resource claims: those that are made for the pod, and those that are prepared on the node.
func (l *layout) claims() {
	var cells [places]Cell
	pod := l.s.Pod
	if pod == nil || len(pod.Spec.ResourceClaims) == 0 {
		return
	}
	var names []string
	for _, c := range pod.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			names = append(names, *c.ResourceClaimName)
		}
	}
	for _, c := range pod.Status.ResourceClaimStatuses {
		if c.ResourceClaimName != nil {
			names = append(names, *c.ResourceClaimName)
		}
	}
	cells[API] = Cell{Text: orNone(list(names)), values: map[string]string{}}
	if l.Seen[Disk] {
		prepared := l.s.Machine.Checkpoints.Claims
		cells[Disk] = Cell{Text: orNone(list(prepared)), values: map[string]string{}}
		for _, name := range names {
			if l.running() || slices.Contains(prepared, name) {
				cells[API].values[name], cells[Disk].values[name] = "yes", "no"
			}
			if slices.Contains(prepared, name) {
				cells[Disk].values[name] = "yes"
			}
		}
	}
	l.row("", words.Text("claims", "资源声明"), cells)
}

func (l *layout) userNamespace() {
	var cells [places]Cell
	pod := l.s.Best()
	if pod == nil || pod.Spec.HostUsers == nil || *pod.Spec.HostUsers {
		return
	}
	cells[API] = Cell{Text: words.Text("its own", "独立")}
	if l.Seen[Disk] {
		ids := l.s.Machine.Checkpoints.HostIDs
		cells[Disk] = Cell{Text: none}
		if ids != 0 {
			cells[Disk].Text = words.With(words.Text("IDs from %d", "ID 从 %d 起"), int(ids))
		}
		if l.running() {
			cells[API].values = map[string]string{"users": "yes"}
			cells[Disk].values = map[string]string{"users": "no"}
			if ids != 0 {
				cells[Disk].values["users"] = "yes"
			}
		}
	}
	l.row("", words.Text("user namespace", "用户命名空间"), cells)
}
