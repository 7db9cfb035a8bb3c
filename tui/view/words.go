package view

import (
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// The words that this package adds. All other text comes with the screen.
var (
	wordPods        = probes.Text{En: "Pods", Zh: "Pod"}
	wordWorst       = probes.Text{En: "worst first", Zh: "最要紧的在前"}
	wordDetail      = probes.Text{En: "Step", Zh: "步骤"}
	wordHeld        = probes.Text{En: "held", Zh: "停住"}
	wordHELD        = probes.Text{En: "HELD", Zh: "停住"}
	wordFailed      = probes.Text{En: "failed", Zh: "失败"}
	wordNow         = probes.Text{En: "now", Zh: "现在"}
	wordSoFar       = probes.Text{En: "for %s", Zh: "已 %s"}
	wordAgain       = probes.Text{En: "again in %s", Zh: "%s 后再来"}
	wordUnseen      = probes.Text{En: "not seen", Zh: "看不到"}
	wordNew         = probes.Text{En: "new", Zh: "条新的"}
	wordFollows     = probes.Text{En: "follows", Zh: "跟随"}
	wordFrozen      = probes.Text{En: "frozen", Zh: "画面定住"}
	wordRecords     = probes.Text{En: "rec", Zh: "录制"}
	wordLost        = probes.Text{En: "lost", Zh: "丢失"}
	wordFilter      = probes.Text{En: "filter", Zh: "过滤"}
	wordLab         = probes.Text{En: "lab", Zh: "实验节点"}
	wordStuck       = probes.Text{En: "stuck", Zh: "卡住"}
	wordRetrying    = probes.Text{En: "retrying", Zh: "重试"}
	wordPodCount    = probes.Text{En: "pods", Zh: "个 Pod"}
	wordOnePod      = probes.Text{En: "pod", Zh: "个 Pod"}
	wordBefore      = probes.Text{En: "before %s", Zh: "在 %s 之前"}
	wordAfter       = probes.Text{En: "after %s", Zh: "在 %s 之后"}
	wordGoesOn      = probes.Text{En: "goes on in %s", Zh: "%s 后自行继续"}
	wordTimer       = probes.Text{En: "timer %s", Zh: "计时器 %s"}
	wordNoTimer     = probes.Text{En: "no timer runs", Zh: "没有计时器在走"}
	wordLease       = probes.Text{En: "lease", Zh: "租约"}
	wordBecause     = probes.Text{En: " (%s)", Zh: "（%s）"}
	wordColon       = probes.Text{En: ": ", Zh: "："}
	wordAlso        = probes.Text{En: "%s, %s", Zh: "%s，%s"}
	wordLeft        = probes.Text{En: "%s left", Zh: "剩 %s"}
	wordOneOther    = probes.Text{En: "and 1 other", Zh: "另有 1 个"}
	wordOthers      = probes.Text{En: "and %d others", Zh: "另有 %d 个"}
	wordNotSelected = probes.Text{En: "not selected:", Zh: "未选中"}
	wordNodeHeld    = probes.Text{En: "the node stands still", Zh: "整个节点停着"}
	wordAsking      = probes.Text{En: "asking", Zh: "正在查询"}
	wordSeenIn      = probes.Text{En: "seen in %s", Zh: "依据：%s"}
	wordRequest     = probes.Text{En: "request", Zh: "请求"}
	wordAnswer      = probes.Text{En: "answer", Zh: "应答"}
	wordArguments   = probes.Text{En: "arguments", Zh: "参数"}
	wordResults     = probes.Text{En: "results", Zh: "结果"}
	wordLastLogged  = probes.Text{En: "logged by breakpoints", Zh: "断点记录的值"}
	wordLogHere     = probes.Text{En: "log values", Zh: "记录值"}
	wordLogged      = probes.Text{En: "in the kubelet's log", Zh: "kubelet 日志中"}
	wordSeenBy      = probes.Text{En: "seen by", Zh: "看到它的探针"}
	wordNotRead     = probes.Text{En: "not read", Zh: "未读取"}
	wordWhichCall   = probes.Text{En: "one of these calls; it is not known which", Zh: "是其中一处调用；不知道是哪一处"}
	wordTries       = probes.Text{En: "tries again", Zh: "重试中"}
	wordToHold      = probes.Text{En: "to hold here", Zh: "停在这里"}
	wordRunsOn      = probes.Text{En: "runs on", Zh: "运行于"}
	wordBegan       = probes.Text{En: "began", Zh: "开始于"}
	wordTime        = probes.Text{En: "time", Zh: "时间"}
	wordPod         = probes.Text{En: "pod", Zh: "Pod"}
	wordStep        = probes.Text{En: "step", Zh: "步骤"}
	wordKind        = probes.Text{En: "kind", Zh: "种类"}
	wordTook        = probes.Text{En: "took", Zh: "用时"}
	wordText        = probes.Text{En: "what", Zh: "内容"}
	wordWhen        = probes.Text{En: "when", Zh: "何时"}
	wordDoes        = probes.Text{En: "does", Zh: "做什么"}
	wordHits        = probes.Text{En: "hits", Zh: "次数"}
	wordEnds        = probes.Text{En: "left", Zh: "剩余"}
	wordTour        = probes.Text{En: "Walk", Zh: "导览"}
	wordCritical    = probes.Text{En: "critical path", Zh: "关键路径"}
	wordChoose      = probes.Text{En: "choose", Zh: "选择"}
	wordBack        = probes.Text{En: "back", Zh: "返回"}
	wordNext        = probes.Text{En: "next", Zh: "下一个"}
	wordFrame       = probes.Text{En: "frame", Zh: "栈帧"}
	wordNextLine    = probes.Text{En: "next line", Zh: "下一行"}
	wordIntoLine    = probes.Text{En: "into", Zh: "进入"}
	wordOutOf       = probes.Text{En: "out", Zh: "跳出"}
	wordGoroutine   = probes.Text{En: "goroutine", Zh: "goroutine"}
	wordInside      = probes.Text{En: "inside %s", Zh: "在 %s 之中"}
	wordScroll      = probes.Text{En: "scroll", Zh: "滚动"}
	wordPrint       = probes.Text{En: "print", Zh: "求值"}
	wordOlder       = probes.Text{En: "older not searched yet", Zh: "更早的尚未查找"}
	wordFoundOf     = probes.Text{En: "%d of %d", Zh: "第 %d 个，共 %d 个"}
	wordHidden      = probes.Text{En: "+%d gone", Zh: "另有 %d 个已消失"}
	wordNoMatch     = probes.Text{En: "nothing here matches", Zh: "没有匹配项"}
	wordMarked      = probes.Text{En: "%d marked", Zh: "已标记 %d 个"}
	wordNOf         = probes.Text{En: "%d of %d", Zh: "%d / %d"}
	wordCalls       = probes.Text{En: "calls", Zh: "次数"}
	wordPerMinute   = probes.Text{En: "a minute", Zh: "每分钟"}
	wordErrors      = probes.Text{En: "errors", Zh: "失败"}
	wordLongest     = probes.Text{En: "longest", Zh: "最长"}
	wordShare       = probes.Text{En: "share", Zh: "占比"}
	wordOpen        = probes.Text{En: "go on", Zh: "进行中"}
	wordOpenFor     = probes.Text{En: "%d, %s", Zh: "%d，%s"}
	wordWorstIn     = probes.Text{En: "longest in", Zh: "最长的在"}
	wordSeenFor     = probes.Text{En: "in %s", Zh: "%s 内"}
	wordFind        = probes.Text{En: "find", Zh: "查找"}
	wordFound       = probes.Text{En: "%d found", Zh: "找到 %d 个"}
)

// orderWords are the names of the orders of durations.
var orderWords = map[spread.Order]probes.Text{
	spread.ByP99: {En: "by p99", Zh: "按 p99"}, spread.BySum: {En: "by total", Zh: "按总时长"}, spread.ByCalls: {En: "by calls", Zh: "按次数"},
	spread.ByMax: {En: "by longest", Zh: "按最长"}, spread.ByErrors: {En: "by errors", Zh: "按失败次数"},
}

// sortWords are the names of the orders of the list.
var sortWords = map[screen.PodSort]probes.Text{
	"": wordWorst, screen.SortWorst: wordWorst, screen.SortName: {En: "by name", Zh: "按名称"},
	screen.SortNewest: {En: "newest first", Zh: "最新的在前"}, screen.SortRestarts: {En: "most restarts first", Zh: "重启最多的在前"},
}
