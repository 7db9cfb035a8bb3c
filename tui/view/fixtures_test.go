package view

import (
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

const ms = time.Millisecond

// fixture is a screen from which goldens are made.
type fixture struct {
	name string
	make func() *screen.Screen
}

var fixtures = []fixture{
	{"held", held},
	{"retry", retry},
	{"others", others},
	{"deletion", deletion},
	{"timeline", timelineOf},
	{"events", eventsOf},
	{"breaks", breaksOf},
	{"logs", logsOf},
	{"causes", causesOf},
	{"durations", durationsOf},
	{"palette", paletteOf},
	{"help", helpOf},
	{"dialog", dialogOf},
	{"form", formOf},
	{"tour", tourOf},
	{"replay", replayOf},
	{"page", pageOf},
	{"stack", stackOf},
	{"printing", printingOf},
	{"empty", emptyOf},
	{"typing", typingOf},
	{"zoom", zoomed},
}

func base() *screen.Screen {
	return &screen.Screen{
		Lang: words.English,
		Header: screen.Header{
			LinkText: "live", Node: "node-1", Kubelet: "v1.36.3", Probes: []string{"woven"}, Pods: 12, Stuck: 1, Retrying: 1,
		},
		Crumbs: []string{"node-1", "default/web", "sync 2", "RunPodSandbox"},
		Focus:  screen.PaneMain,
		Pods: screen.PodList{Total: 8, Namespace: 11, Rows: []screen.PodRow{
			{Key: 2, Namespace: "shop", Name: "db-0", Mark: life.Stuck, Word: "stuck", For: 192 * time.Second, Where: "volumes", Line: "volume pvc-db is not attached"},
			{Key: 3, Namespace: "shop", Name: "cart-7f9c5d6b8-x2x4k", Mark: life.Retrying, Word: "retrying", For: 18 * time.Second, Where: "image", Line: "image not found, 4th try"},
			{Key: 1, Namespace: "default", Name: "web", Mark: life.Working, Word: "working", For: 2 * time.Second, Where: "sandbox"},
			{Key: 4, Namespace: "batch", Name: "report-28871-kq9x7", Mark: life.Waiting, Word: "waiting", For: 41 * time.Second, Where: "image"},
			{Key: 5, Namespace: "kube-system", Name: "dns-x2", Mark: life.Idle, Word: "running"},
			{Key: 6, Namespace: "shop", Name: "api-0", Mark: life.Idle, Word: "running"},
			{Key: 7, Namespace: "batch", Name: "seed-1", Mark: life.Done, Word: "done"},
			{Key: 8, Namespace: "default", Name: "old", Mark: life.Gone, Word: "gone"},
		}, Cursor: 2},
		Hints: []screen.Hint{
			{Key: "s", Text: "step"}, {Key: "o", Text: "over"}, {Key: "c", Text: "continue", Off: "nothing is held"},
			{Key: "b", Text: "break"}, {Key: "t", Text: "timeline"}, {Key: "/", Text: "filter"}, {Key: "?", Text: "help"},
		},
	}
}

// held is a new pod, held before its sandbox is made.
func held() *screen.Screen {
	s := base()
	s.Header.Held = 1
	s.Header.Pods = 12
	p := &s.Pods
	web := screen.PodRow{Key: 1, Namespace: "default", Name: "web", Mark: life.Held, Word: "held", Left: 24 * time.Second, Where: "sandbox"}
	p.Rows = append([]screen.PodRow{web, p.Rows[0], p.Rows[1]}, p.Rows[3:]...)
	p.Cursor, p.Total = 0, 12
	s.Hold = &screen.HoldBanner{Count: 1, Pod: "default/web", Step: "RunPodSandbox", On: "enter", Left: 24 * time.Second, UID: "6a88", Selected: true, Free: true}
	s.Why = screen.Why{
		Text:     "web waits because you hold it before RunPodSandbox. Its call has not begun, so nothing times out.",
		Evidence: "kubelet event 1204", Mark: life.Held,
	}
	s.Body = &screen.Story{Pod: web, Title: "create, sync 2", Took: 1840 * ms, Clock: "not ready for 1.84 s", Rows: heldRows(), Cursor: 13, Follow: true}
	s.Story().Total = len(s.Story().Rows)
	s.Detail = sandboxDetail()
	s.Detail.Held = "No timer of the kubelet runs, so the hold costs nothing. Goes on by itself in 24 s, when its lease ends."
	s.Hints = []screen.Hint{
		{Key: "c", Text: "let go", Pod: "default/web"}, {Key: "s", Text: "step", Pod: "default/web"}, {Key: "o", Text: "over", Pod: "default/web"},
		{Key: "b", Text: "break"}, {Key: "R", Text: "let web go"}, {Key: "?", Text: "help"},
	}
	return s
}

func heldRows() []screen.Row {
	rows := []screen.Row{
		{Kind: screen.RowChapter, Label: "Creation", Took: 1840 * ms, Opens: true, Open: true},
		{Kind: screen.RowStage, Depth: 1, Label: "source", Note: "api", Took: 0},
		{Kind: screen.RowStage, Depth: 1, Label: "merge", Note: "ADD", Took: 200 * time.Microsecond},
		{Kind: screen.RowStage, Depth: 1, Label: "admit", Note: "12 admit handlers agree", Took: 400 * time.Microsecond},
		{Kind: screen.RowStage, Depth: 1, Label: "worker", Note: "UpdatePod, new pod worker", Took: 100 * time.Microsecond},
		{Kind: screen.RowFolded, Depth: 1, Label: "sync 1", Note: "create, network not ready", Took: 12 * ms, Opens: true, Mark: screen.RowFailed, Error: "network is not ready: container runtime network not ready: NetworkReady=false", Times: 3},
		{Kind: screen.RowSync, Depth: 1, Label: "sync 2", Note: "create", Took: 1800 * ms, Opens: true, Open: true, Mark: screen.RowCurrent},
		{Kind: screen.RowStep, Depth: 2, Label: "status", Note: "Pending", Took: 100 * time.Microsecond},
		{Kind: screen.RowStep, Depth: 2, Label: "cgroup", Note: "burstable/pod6a8872fd-3b1e-4f3a-9e53-0c1f6f2a71e0", Took: 1200 * time.Microsecond},
		{Kind: screen.RowStep, Depth: 2, Label: "directories", Took: 300 * time.Microsecond},
		{Kind: screen.RowStep, Depth: 2, Label: "volumes", Note: "1 of 1 mounted", Took: 402 * ms, Opens: true},
		{Kind: screen.RowStep, Depth: 2, Label: "runtime", Note: "plan: sandbox, then init, then app", Opens: true, Open: true, Mark: screen.RowCurrent, Took: 1390 * ms},
		{Kind: screen.RowStep, Depth: 3, Label: "version", Note: "containerd 1.7.24", Took: 800 * time.Microsecond, CRI: true},
		{Kind: screen.RowStep, Depth: 3, Label: "sandbox", Note: "RunPodSandbox", Mark: screen.RowHeld, Left: 24 * time.Second, CRI: true},
		{Kind: screen.RowExpected, Depth: 3, Label: "init", Note: "pull  create  start", Mark: screen.RowToCome},
		{Kind: screen.RowExpected, Depth: 3, Label: "app", Note: "pull  create  start", Mark: screen.RowToCome},
		{Kind: screen.RowExpected, Depth: 2, Label: "status", Note: "patch: Running", Mark: screen.RowToCome},
		{Kind: screen.RowChapter, Label: "Running", Mark: screen.RowToCome},
	}
	for i := range rows {
		rows[i].ID = string(rune('a' + i))
		rows[i].At = time.Duration(i) * 37 * ms
	}
	return rows
}

func sandboxDetail() *screen.Detail {
	return &screen.Detail{
		Step: "cri.runpodsandbox", Title: "RunPodSandbox",
		Text:  "Asks the runtime for the pod's sandbox: namespaces, a cgroup, and a network by CNI ADD. It returns when the sandbox is ready, or when its deadline of 4 minutes has passed.",
		Place: "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go:78",
		Source: []string{
			"	if err != nil {",
			"		message := fmt.Sprintf(\"Failed to look up handler for pod %q\", format.Pod(pod))",
			"		return \"\", message, err",
			"	}",
			"",
			"	podSandBoxID, err := m.runtimeService.RunPodSandbox(ctx, podSandboxConfig, runtimeHandler)",
			"	if err != nil {",
			"		// the caller wants to know what it was about",
			"		return \"\", message, err",
		},
		First: 73, Mark: 5,
		Args: []screen.Value{{Name: "pod", Text: "default/web"}, {Name: "attempt", Text: "0"}, {Name: "runtimeHandler", Text: ""}},
		Request: []string{
			"config:", "  metadata:", "    name: web", "    namespace: default", "    uid: 6a8872fd-3b1e-4f3a-9e53-0c1f6f2a71e0",
			"    attempt: 0", "  hostname: web", "  log_directory: /var/log/pods/default_web_6a8872fd", "  dns_config:",
			"    servers:", "    - 10.96.0.10", "    searches:", "    - default.svc.cluster.local", "  linux:",
			"    cgroup_parent: /kubepods/burstable/pod6a8872fd",
		},
		Goroutine: "the pod's worker", Began: time.Date(2026, 3, 4, 9, 12, 7, 401e6, time.UTC),
		Hold: "safe before the call: nothing has begun, so no timer runs. Other pods go on.",
	}
}

// others has a selected pod that is not held while three others are. One of these goes on first because of a timer.
func others() *screen.Screen {
	s := retry()
	s.Header.Held = 3
	s.Pods.Rows[0] = screen.PodRow{Key: 9, Namespace: "shop", Name: "checkout-6d9f7c7b5d-9wq2z", Mark: life.Held, Word: "held", For: 99 * time.Second, Left: 24 * time.Second, Where: "StopContainer", Line: "before: Stop a container"}
	s.Hold = &screen.HoldBanner{Count: 3, Pod: "shop/checkout-6d9f7c7b5d-9wq2z", UID: "9", Step: "cri.StopContainer", On: "enter", Left: 24 * time.Second, Timer: "grace"}
	s.Hints = []screen.Hint{
		{Key: "J", Text: "to checkout-6d9..d-9wq2z"}, {Key: "R", Text: "let all 3 go"}, {Key: "b", Text: "break"},
		{Key: "H", Text: "hold", Pod: "shop/cart-7f9c5d6b8-x2x4k"}, {Key: "?", Text: "help"},
	}
	return s
}

// retry is a pod whose image is not found.
func retry() *screen.Screen {
	s := base()
	s.Focus = screen.PanePods
	s.Pods.Cursor = 1
	s.Crumbs = []string{"node-1", "shop/cart-7f9c5d6b8-x2x4k", "sync 9"}
	s.Why = screen.Why{Text: "cart waits 1m20s before it asks for the image shop/cart:9 again: the registry said not found, 4 times since 3m5s ago.", Evidence: "kubelet event 988", Mark: life.Retrying}
	s.Body = &screen.Story{Pod: s.Pods.Rows[1], Title: "create, sync 9", Took: 185 * time.Second, Clock: "not ready for 3m5s", Cursor: 6, Newer: 312, Rows: []screen.Row{
		{ID: "a", Kind: screen.RowChapter, Label: "Creation", Took: 185 * time.Second, Opens: true, Open: true},
		{ID: "b", Kind: screen.RowFolded, Depth: 1, Label: "before the worker", Note: "source, merge, admit", Opens: true, Took: 2 * ms},
		{ID: "c", Kind: screen.RowSync, Depth: 1, Label: "sync 1", Note: "create", Took: 1300 * ms, Opens: true},
		{ID: "d", Kind: screen.RowNote, Depth: 1, Label: "fault", Note: "break 3 made image.pull fail once", Mark: screen.RowNoted},
		{ID: "e", Kind: screen.RowFolded, Depth: 1, Label: "sync", Note: "image", Error: "rpc error: code = NotFound desc = failed to pull and unpack image \"docker.io/shop/cart:9\": not found", Mark: screen.RowFailed, Times: 4, Opens: true, Took: 800 * ms},
		{ID: "f", Kind: screen.RowStep, Depth: 2, Label: "image", Note: "shop/cart:9", Error: "not found", Mark: screen.RowFailed, Took: 420 * ms, CRI: true},
		{ID: "g", Kind: screen.RowStep, Depth: 2, Label: "back-off", Note: "ImagePullBackOff", Mark: screen.RowWaits, Left: 80 * time.Second},
		{ID: "h", Kind: screen.RowExpected, Depth: 2, Label: "create", Mark: screen.RowToCome, CRI: true},
		{ID: "i", Kind: screen.RowStep, Depth: 2, Label: "cgroup limits", Mark: screen.RowUnseen, Error: "the cri probe cannot see it"},
	}}
	s.Story().Total = 240
	return s
}

// deletion is a pod on its way out, with all its chapters.
func deletion() *screen.Screen {
	s := base()
	s.Header.Frozen = true
	s.Header.Dropped = 17
	s.Header.Filter = "ns=default slow>2s"
	s.Header.Recording = "web.pst"
	s.Crumbs = []string{"node-1", "default/web", "termination"}
	s.Why = screen.Why{Text: "web is being deleted: its container has 18 s of its grace period of 30 s left.", Evidence: "kubelet event 2210", Mark: life.Working}
	s.Body = &screen.Story{Pod: s.Pods.Rows[2], Title: "terminating, sync 7", Took: 95 * time.Second, Clock: "terminating for 1m35s", Cursor: 6, Rows: []screen.Row{
		{ID: "a", Kind: screen.RowChapter, Label: "Creation", Took: 2100 * ms, Opens: true},
		{ID: "b", Kind: screen.RowChapter, Label: "Running", Note: "4 syncs, nothing changed", Took: 80 * time.Second, Opens: true},
		{ID: "c", Kind: screen.RowChapter, Label: "Termination", Took: 12 * time.Second, Opens: true, Open: true},
		{ID: "d", Kind: screen.RowSync, Depth: 1, Label: "sync 7", Note: "terminating", Mark: screen.RowCurrent, Took: 12 * time.Second, Opens: true, Open: true},
		{ID: "e", Kind: screen.RowStep, Depth: 2, Label: "health probes", Note: "liveness and startup stop", Took: 90 * time.Microsecond},
		{ID: "f", Kind: screen.RowStep, Depth: 2, Label: "preStop", Note: "exec: sleep 5", Took: 5010 * ms},
		{ID: "g", Kind: screen.RowStep, Depth: 2, Label: "stop", Note: "web, SIGTERM, grace 30 s", Mark: screen.RowCurrent, Took: 6900 * ms, CRI: true},
		{ID: "h", Kind: screen.RowExpected, Depth: 2, Label: "sandbox", Note: "StopPodSandbox", Mark: screen.RowToCome, CRI: true},
		{ID: "i", Kind: screen.RowExpected, Depth: 1, Label: "sync 8", Note: "terminated", Mark: screen.RowToCome},
	}}
	s.Story().Total = 9
	return s
}

func timelineOf() *screen.Screen {
	s := base()
	s.Main = screen.MainTimeline
	s.Why = screen.Why{Text: "web runs and is ready.", Mark: life.Idle}
	bar := func(depth int, label string, from, to int, critical bool, mark screen.RowMark) screen.Bar {
		return screen.Bar{ID: label, Label: label, Depth: depth, From: time.Duration(from) * ms, To: time.Duration(to) * ms, Critical: critical, Mark: mark}
	}
	s.Body = &screen.Timeline{From: 4000 * ms, To: 6200 * ms, Now: 6000 * ms, Total: 11, Cursor: 5, Bars: []screen.Bar{
		bar(0, "default/web", 4000, 6000, true, screen.RowCurrent),
		bar(1, "merge", 4000, 4001, false, screen.RowDone),
		bar(1, "worker", 4003, 4009, true, screen.RowDone),
		bar(1, "sync 1", 4010, 4210, false, screen.RowFailed),
		bar(1, "sync 2", 4215, 6000, true, screen.RowDone),
		bar(2, "volumes", 4220, 4622, true, screen.RowDone),
		bar(2, "sandbox", 4640, 5012, true, screen.RowDone),
		bar(2, "image busybox:1.35", 5015, 5555, true, screen.RowDone),
		bar(2, "create", 5560, 5602, false, screen.RowDone),
		bar(2, "start", 5604, 5694, true, screen.RowHeld),
		bar(2, "back-off", 5700, 6000, false, screen.RowWaits),
	}}
	s.Timeline().Bars[0].Open = true
	return s
}

func eventsOf() *screen.Screen {
	s := base()
	s.Main = screen.MainEvents
	s.Why = screen.Why{Text: "web runs and is ready.", Mark: life.Idle}
	at := time.Date(2026, 3, 4, 9, 12, 7, 0, time.UTC)
	web := &probes.Pod{Namespace: "default", Name: "web"}
	cart := &probes.Pod{Namespace: "shop", Name: "cart-7f9c5d6b8-x2x4k"}
	row := func(i int, kind probes.Kind, step string, pod *probes.Pod, took time.Duration, err, text string) screen.EventRow {
		return screen.EventRow{Pos: 1200 + i, Text: text, Event: probes.Event{Time: at.Add(time.Duration(i) * 87 * ms), Kind: kind, Step: step, Pod: pod, DurationNs: int64(took), Error: err}}
	}
	s.Body = &screen.EventList{Total: 128417, Top: 128409, Cursor: 4, Follow: true, Filter: "stage=syncpod", More: true, Rows: []screen.EventRow{
		row(0, probes.Enter, "sync.pod", web, 0, "", "updateType=create"),
		row(1, probes.Enter, "sync.volumes", web, 0, "", ""),
		row(2, probes.Exit, "sync.volumes", web, 402*ms, "", "mounted=1"),
		row(3, probes.Enter, "cri.runpodsandbox", web, 0, "", "config.metadata.name=web attempt=0"),
		row(4, probes.Held, "cri.runpodsandbox", web, 0, "", "by tui, lease 30s, budget node lease 38s"),
		row(5, probes.Released, "cri.runpodsandbox", web, 24*time.Second, "", "continued"),
		row(6, probes.Exit, "image.pull", cart, 420*ms, "not found", "failed to pull and unpack image \"docker.io/shop/cart:9\": not found"),
		row(6, probes.Note, "image.pull", cart, 420*ms, "", "breakpoint 4: image=docker.io/shop/cart:9, imageRef=sha256:1f9c5d6b8a1f9c5d6b8a1f9c5d6b8a1f9c5d6b8a"),
		row(7, probes.Drop, "", nil, 0, "", "17 events of kind note"),
	}}
	return s
}

func breaksOf() *screen.Screen {
	s := base()
	s.Main = screen.MainBreaks
	s.Why = screen.Why{Text: "web runs and is ready.", Mark: life.Idle}
	s.Body = &screen.BreakList{Cursor: 1, Rows: []screen.BreakRow{
		{ID: 1, Pods: "default/web", Steps: "cri.runpodsandbox", When: "enter", Action: "hold", Hits: 1},
		{ID: 2, Pods: "shop/*", Steps: "image.*", When: "error", Action: "hold", Expires: 312 * time.Second, Refused: "image.pull is serial here: a hold would stop the pulls of every pod"},
		{ID: 3, Pods: "*/cart-*", Steps: "image.pull", When: "slower than 2s", Action: "fail: registry unavailable", Hits: 12},
		{ID: 4, Pods: "*", Steps: "cri.pullimage", When: "exit", Action: "logs image, took if slow>2s", Hits: 1204, Counted: "logged 1204, dropped 17: too many came in a second"},
	}}
	return s
}

// logsOf has a story with breakpoints that hold and that log, and the detail of a step with both.
func logsOf() *screen.Screen {
	s := held()
	for i := range s.Story().Rows {
		switch r := &s.Story().Rows[i]; r.Label {
		case "volumes":
			r.Point.Logs = true
		case "runtime":
			r.Point.Acts = true
		case "sandbox":
			r.Point = screen.Point{Acts: true, Logs: true}
		}
	}
	d := s.Detail
	d.Request, d.Points = nil, map[int]screen.Point{
		75: {Acts: true},
		77: {Logs: true},
		78: {Acts: true, Logs: true, Last: "09:12:07.401  attempt=0, config={\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"uid\":\"6a8872fd-3b1e-4f3a-9e53-0c1f6f2a71e0\"}}"},
	}
	d.Logs = []screen.Value{{Name: "09:12:07.401 #4", Text: "attempt=0, handler="}, {Name: "09:11:07.002 #4", Text: "attempt=1, handler=kata"}}
	return s
}

// durationsOf has steps whose calls have ended, and one whose only call goes on.
func durationsOf() *screen.Screen {
	s := base()
	s.Main = screen.MainTop
	s.Why = screen.Why{Text: "web runs and is ready.", Mark: life.Idle}
	us := time.Microsecond
	s.Body = &screen.Top{Total: 41, Top: 12, Cursor: 2, Order: spread.ByP99, Seen: 185 * time.Second, Rows: []screen.TopRow{
		{Step: "image.pull", Title: "Pull an image", Calls: 12, Errors: 4, PerMinute: 3.9, Share: 0.31, P50: 1200 * ms, P90: 9 * time.Second, P99: 42 * time.Second, Max: 42 * time.Second, Worst: "shop/cart-7f9c5d6b8-x2x4k", Heat: [spread.HeatBins]int{10: 3, 11: 5, 12: 3, 14: 1}},
		{Step: "sync.pod", Title: "Sync a pod", Calls: 128417, PerMinute: 41650, Share: 2.45, P50: 9 * ms, P90: 40 * ms, P99: 2100 * ms, Max: 42 * time.Second, Worst: "shop/cart-7f9c5d6b8-x2x4k", Open: 3, Longest: 12 * time.Second, Heat: [spread.HeatBins]int{4: 2, 5: 900, 6: 120000, 7: 7000, 8: 400, 9: 100, 12: 13, 14: 2}},
		{Step: "cri.RunPodSandbox", Title: "RunPodSandbox", Calls: 8, PerMinute: 2.6, Share: 0.017, P50: 372 * ms, P90: 512 * ms, P99: 512 * ms, Max: 512 * ms, Worst: "default/web", Heat: [spread.HeatBins]int{9: 3, 10: 5}},
		{Step: "status.patch", Title: "Patch the status", Calls: 26, Errors: 1, PerMinute: 8.4, P50: 2 * ms, P90: 4 * ms, P99: 5 * ms, Max: 5 * ms, Worst: "kube-system/dns-x2", Heat: [spread.HeatBins]int{5: 20, 6: 6}},
		{Step: "merge.Merge", Title: "Merge", Calls: 47, PerMinute: 15.2, P50: 4 * us, P90: 20 * us, P99: 30 * us, Max: 30 * us, Worst: "node-1", Heat: [spread.HeatBins]int{0: 40, 1: 7}},
		{Step: "boot.klrun", Title: "Run the kubelet", Open: 1, Longest: 185 * time.Second, Worst: "node-1"},
	}}
	return s
}

// causesOf shows why a pod waits for a volume, while podstep asks the cluster again.
func causesOf() *screen.Screen {
	s := base()
	s.Main, s.Detail = screen.MainWhy, nil
	s.Why = screen.Why{Mark: life.Stuck, Text: "The kubelet cannot mount volume settings: the API server has no ConfigMap settings.", Evidence: "configmaps/settings"}
	s.Body = &screen.Causes{Cursor: 2, Asking: true, Items: []screen.CauseItem{
		{Kind: screen.CauseTitle, Text: "A ConfigMap that the pod mounts does not exist", Aside: "certain"},
		{Kind: screen.CauseText, Text: "The kubelet cannot mount volume settings: the API server has no ConfigMap settings in namespace shop."},
		{Kind: screen.CauseField, Label: "seen", Text: "event FailedMount of Pod db-0: MountVolume.SetUp failed for volume \"settings\" : configmap \"settings\" not found", Aside: "api 12 s", Goes: screen.CauseToEvent},
		{Kind: screen.CauseField, Label: "clock", Text: "Back-off of this volume: 0.5 s, doubled after each failure up to 2m2s."},
		{Kind: screen.CauseField, Label: "do", Text: "See which ConfigMaps there are."},
		{Kind: screen.CauseCommand, Text: "kubectl get configmaps -n shop"},
		{Kind: screen.CauseField, Label: "walk", Text: "missing-configmap", Goes: screen.CauseToWalk},
		{Kind: screen.CauseTitle, Text: "A volume cannot be set up for the pod", Aside: "likely"},
		{Kind: screen.CauseField, Label: "a consequence of", Text: "A ConfigMap that the pod mounts does not exist"},
		{Kind: screen.CauseNote, Label: "not seen", Text: "kubelet /healthz: forbidden"},
	}}
	return s
}
