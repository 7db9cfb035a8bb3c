package view

import (
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func paletteOf() *screen.Screen {
	s := held()
	s.Over = &screen.Overlay{
		Kind: screen.OverPalette, Title: "Do", Total: 9, Cursor: 1, Armed: true,
		Input: &screen.Input{Prompt: ":", Text: "st", Cursor: 2},
		Items: []screen.Item{
			{Group: "Step a held pod", Text: "Step into the next step", Key: "s", Match: []int{0, 1}},
			{Group: "Step a held pod", Text: "Next stage", Key: "S", Match: []int{5, 6}},
			{Group: "Hold", Text: "Stop holding all pods", Key: "R", Match: []int{0, 1}},
			{Group: "Replay", Text: "Step back", Key: "", Off: "only in a trace file", Match: []int{0, 1}},
			{Group: "Pod", Text: "default/web-static", Match: []int{12, 13}},
			{Group: "Step", Text: "sync.status", Match: []int{5, 6}},
		},
	}
	return s
}

func helpOf() *screen.Screen {
	s := held()
	items := []screen.Item{}
	group := func(g string, keys ...string) {
		for i := 0; i+1 < len(keys); i += 2 {
			items = append(items, screen.Item{Group: g, Key: keys[i], Text: keys[i+1]})
		}
	}
	group("Move", "j, down", "Down", "k, up", "Up", "l, right", "Open, go into", "h, left", "Back, close", "g, home", "To the beginning", "G, end", "To the end", "tab", "Next pane")
	group("Step a held pod", "s", "Into: the next step of any depth", "n, o", "Over: the next step beside this one", "O", "Out of this step", "S", "To the next stage", "i", "To the next call of the runtime", "y", "To the next sync")
	group("Hold and let go", "H", "Hold this pod at its next step", "b", "Set a breakpoint here", "c", "Let it go", "R", "Let all go")
	group("Look", "p", "Pipeline", "t", "Timeline", "e", "Events", "B", "Breakpoints", "w", "Why does it wait", "/", "Filter")
	items[9].Off = "the pod is not held"
	s.Over = &screen.Overlay{Kind: screen.OverHelp, Title: "Keys", Total: len(items), Cursor: 8, Items: items, Armed: true, Input: &screen.Input{Prompt: "/"}}
	return s
}

func dialogOf() *screen.Screen {
	s := held()
	s.Over = &screen.Overlay{
		Kind: screen.OverDialog, Title: "Hold default/web on node-1?", Danger: true, Armed: true,
		Text: []string{
			"It will stop before RunPodSandbox, on its own goroutine. Other pods go on.",
			"", "It goes on by itself after 30 s, or when you leave.",
		},
		Buttons: []string{"Cancel", "Hold"},
	}
	return s
}

func formOf() *screen.Screen {
	s := held()
	s.Over = &screen.Overlay{
		Kind: screen.OverDialog, Title: "Breakpoint", Cursor: 1, Armed: true,
		Items: []screen.Item{{Text: "Pods: default/web"}, {Text: "Steps: cri.run"}, {Text: "When: ‹ enter ›"}, {Text: "Action: ‹ hold ›"}, {Text: "Times: 0"}},
		Input: &screen.Input{Prompt: "Steps", Text: "cri.run", Cursor: 7, Help: "tab: cri.runpodsandbox"}, Buttons: []string{"Cancel", "Add"},
	}
	return s
}

func pageOf() *screen.Screen {
	s := held()
	s.Over = &screen.Overlay{
		Kind: screen.OverPage, Title: "Why", Total: 5, Armed: true,
		Text: []string{"web waits because you hold it before RunPodSandbox.", "", "Seen in", "  kubelet event 1204: hold at cri.runpodsandbox, enter", "  agent: lease of 30 s, held by this screen"},
	}
	return s
}

func tourOf() *screen.Screen {
	s := held()
	s.Tour = &screen.TourCard{
		Title: "A pod is created", Heading: "The sandbox is asked for", Stop: 4, Stops: 11,
		Text:     "The kubelet has made all that stands around the containers. Now it asks the runtime for the sandbox: the namespaces that the pod's containers share, and its network address.",
		Question: "Which container keeps the namespaces alive while nothing else runs?",
		Wait:     "enter goes on to the image pull",
	}
	return s
}

func replayOf() *screen.Screen {
	s := held()
	s.Hold = nil
	s.Header.Held = 0
	s.Header.Link, s.Header.LinkText = screen.LinkReplay, "replay 00:12/01:40"
	s.Header.At, s.Header.Of = 12*time.Second, 100*time.Second
	s.Header.Probes, s.Header.Blind = []string{"cri"}, "sees calls of the runtime only"
	s.Notice = &screen.Notice{Text: "The file ends in the middle of an event; all before it is shown.", Error: true}
	s.Focus = screen.PaneDetail
	s.Detail.Top = 4
	return s
}

func emptyOf() *screen.Screen {
	return &screen.Screen{
		Lang:   words.English,
		Header: screen.Header{Link: screen.LinkReconnecting, LinkText: "reconnecting 2s", Node: "node-1", Kubelet: "v1.36.3", Probes: []string{"woven"}, Lab: true},
		Crumbs: []string{"node-1"},
		Pods:   screen.PodList{Empty: "No pods on this node yet. Make one with kubectl apply, or take a tour.", Cursor: -1},
		Body:   &screen.Story{Empty: "Choose a pod to see its story.", Cursor: -1},
		Why:    screen.Why{Text: "The agent does not answer. Any pod that was held has gone on.", Mark: life.Stuck},
		Hints:  []screen.Hint{{Key: "T", Text: "tours"}, {Key: "q", Text: "quit"}, {Key: "?", Text: "help"}},
	}
}

func typingOf() *screen.Screen {
	s := retry()
	s.Input = &screen.Input{Prompt: "/", Text: "ns=shop step~image slo>2s", Cursor: 25, Error: "unknown field \"slo\": did you mean slow?"}
	return s
}

// zoomed shows one pane alone, and a long notice.
func zoomed() *screen.Screen {
	s := held()
	s.Zoom = true
	s.Notice = &screen.Notice{Error: true, Text: "default/web was not let go: the agent does not answer on /run/podstep/agent.sock. It goes on by itself when its lease ends; podstep continue --all lets everything go."}
	return s
}

// chinese is a screen with Chinese text everywhere.
func chinese() *screen.Screen {
	s := tourOf()
	s.Lang = words.Chinese
	s.Header.LinkText = "在线"
	s.Crumbs = []string{"node-1", "default/web", "第 2 轮同步", "创建沙箱"}
	s.Pods.Rows[0].Word, s.Pods.Rows[0].Where = "停住", "沙箱"
	s.Pods.Rows[1].Word, s.Pods.Rows[1].Line = "卡住", "卷 pvc-db 还没有挂接到节点上，已经等了很久"
	s.Pods.Rows[2].Word, s.Pods.Rows[2].Line = "重试", "镜像找不到，第 4 次"
	s.Why.Text = "web 停在 RunPodSandbox 之前，是你让它停住的。调用还没有开始，所以没有任何超时在走。"
	s.Why.Evidence = "kubelet 事件 1204"
	labels := map[string]string{"Creation": "创建", "source": "来源", "merge": "合并", "admit": "准入", "worker": "交给 worker", "status": "计算状态", "volumes": "卷", "sandbox": "沙箱", "runtime": "容器运行时", "Running": "运行"}
	for i := range s.Story().Rows {
		if l, ok := labels[s.Story().Rows[i].Label]; ok {
			s.Story().Rows[i].Label = l
		}
	}
	s.Story().Title = "创建，第 2 轮同步"
	s.Detail.Title = "创建沙箱"
	s.Detail.Text = "请运行时为 Pod 建立沙箱：命名空间、cgroup，以及通过 CNI ADD 得到的网络。沙箱就绪，或者过了 4 分钟的期限，调用才会返回。"
	s.Tour.Title = "一个 Pod 的创建"
	s.Tour.Heading = "请求创建沙箱"
	s.Tour.Text = "kubelet 已经备好容器之外的一切。现在它请运行时建立沙箱：这个 Pod 的容器共用的命名空间，以及它的网络地址。"
	s.Tour.Question = "没有别的容器在运行时，是谁维持着这些命名空间？"
	s.Tour.Wait = "回车继续，到拉取镜像"
	s.Hints = []screen.Hint{{Key: "s", Text: "步入"}, {Key: "o", Text: "步过"}, {Key: "c", Text: "继续"}, {Key: "b", Text: "断点"}, {Key: "?", Text: "帮助"}}
	return s
}
