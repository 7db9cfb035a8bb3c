// Package memory has, for each field of the catalogue, how a probe without a
// compiler reads it: from which register or place on the stack, over which
// pointers and members, as what kind of value. The catalogue's own expressions
// are Go, for woven code; an eBPF program or a debugger has only registers and
// bytes.
//
// Where a value lies depends on the version of the kubelet, so there is a table
// for each minor version, generated from the kubelet's own types: that of the
// catalogue's version by go generate, others by scripts/memory.sh. A value that
// cannot be read so has a reason in place of a form, and a probe does not show
// it.
package memory

import (
	"fmt"

	"github.com/podstep/podstep/probes"
)

//go:generate go -C ../.. run ./cmd/gen memory

// Side is when a value is read.
type Side string

const (
	// Pod: with the pod that the call is about; at the exit if the catalogue says
	// so (probes.PodSource.Exit), else as the function is entered.
	Pod Side = "pod"
	// Enter: as the function is entered.
	Enter Side = "enter"
	// Exit: as the function returns. What is read through an argument then needs
	// the argument's register from the entry.
	Exit Side = "exit"
	// Error: the error that the function returns, read as for Exit; under the name "error".
	Error Side = "error"
	// Quiet: what decides whether a call is no event (probes.Step.Quiet), read as for Exit. The value named When is
	// the condition. The other values are its operands.
	Quiet Side = "quiet"
	// Symbol: for a function literal, which one it is, in words: its name behind that of the function around it if
	// nothing is inlined, and by how many lines it begins after that function. The value's name is that of the
	// literal in the catalogue. Under the name Function it has the Shape of the step's function.
	Symbol Side = "symbol"
)

// Errors stands in place of a step where side Error is about types of errors. The names are the types. A form of
// kind String is that of the error's text; one of kind Interface is that of the error within, whose text stands for
// its own. Forms begin at the word of an interface that has the error's data.
const Errors = "errors"

// Locks stands in place of a step where side Symbol is about functions that take a lock. The names are the symbols
// of such functions, in the packages that steps are in.
const Locks = "locks"

// Function is the name of the Shape of a step's function, of side Symbol.
const Function = "function"

// When is the name of the condition of side Quiet: a Go expression over the names of the
// other values of that side.
const When = "when"

// The names of the values of a pod, of side Pod.
const (
	// UID, Namespace and Name are the pod's own, or those of each pod of a List.
	UID, Namespace, Name = "uid", "namespace", "name"
	// Version is the resource version of each pod of a List.
	Version = "resourceVersion"
	// ID is the id of a sandbox or a container.
	ID = "id"
	// List is the list of the pods that a call is about. For probes.PodUpdates there is one list for each Op, under
	// the Op's name.
	List = "list"
)

// Kind is what a value is, once it is found: how many bytes, and what they mean.
type Kind string

const (
	// String: a pointer to the bytes and their number, two words. A probe reads
	// at most MaxString of them.
	String Kind = "string"
	// Bool: one byte.
	Bool Kind = "bool"
	// Int8 and so on: a number of that size.
	Int8, Int16, Int32, Int64     Kind = "int8", "int16", "int32", "int64"
	Uint8, Uint16, Uint32, Uint64 Kind = "uint8", "uint16", "uint32", "uint64"
	// Duration: an int64 of nanoseconds.
	Duration Kind = "duration"
	// Time: Go's time.Time, three words: wall, ext, and a pointer that is not needed.
	Time Kind = "time"
	// IsNil and NotNil: whether a word is zero, or not.
	IsNil, NotNil Kind = "isNil", "notNil"
	// Interface: the two words of an interface that has methods: its table of methods, and its data.
	Interface Kind = "interface"
	// Pointers and Interfaces: the first words of a slice, its pointer and its
	// length. Its elements are pointers of a word, or interfaces of two.
	Pointers, Interfaces Kind = "pointers", "interfaces"
)

const (
	// MaxString bounds what is read of a text, in bytes.
	MaxString = 1 << 10
	// MaxList bounds how many elements of a list are read.
	MaxList = 128
)

// Size returns how many bytes the value takes where it is found.
func (k Kind) Size() int {
	switch k {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32:
		return 4
	case String, Interface, Pointers, Interfaces:
		return 16
	case Time:
		return 24
	}
	return 8
}

// Form is how a value is read.
type Form struct {
	Kind Kind
	// Names are the names of an enumeration's numbers; nil if the value is none. Kind is then that of the numbers.
	// A number without a name is shown as it is.
	Names map[int64]string
	// Zero: if a pointer on the way is nil, the value is Go's zero value, such as false or empty. Without Zero
	// there is no value then.
	Zero bool
	// From is the argument or result that the value is in, by its name in the
	// kubelet's source, with the members that lie in it.
	From string
	// AMD64 and ARM64 are where From is.
	AMD64, ARM64 Place
	// Hops lead on from there. The word that was found is a pointer. What it points at, so many bytes further, is
	// the next word, or at last the value.
	Hops []Hop
}

// Place returns where From is on an architecture, as Go names it.
func (f *Form) Place(arch string) Place {
	if arch == "arm64" {
		return f.ARM64
	}
	return f.AMD64
}

// Place is where an argument or result begins, by Go's ABIInternal.
type Place struct {
	// In is what At counts.
	In In
	At int
}

// In is where something lies.
type In byte

const (
	// Register: At is the number of an integer register, in the order of the ABI.
	// A value of several words goes on in the next ones. Registers has their names.
	Register In = 'r'
	// Result is a Register of a result, as the function returns. A Register at Exit is read as the function is
	// entered.
	Result In = 'o'
	// Stack: At is an offset, in bytes, from where the caller's frame ends: 8 above
	// the stack pointer at the function's first instruction, on both architectures.
	Stack In = 's'
	// Element: At is an offset into the element of a List.
	Element In = 'e'
)

func (p Place) String() string { return fmt.Sprintf("%c%d", p.In, p.At) }

// Hop follows one pointer.
type Hop struct {
	// Type is what the pointer points at. Members is the way from there. Both are as the kubelet's source names
	// them.
	Type, Members string
	// Offset is where Members leads, in bytes.
	Offset int
}

// Registers are the integer registers in which arguments and results are passed,
// by architecture as Go names it.
var Registers = map[string][]string{
	"amd64": {"RAX", "RBX", "RCX", "RDI", "RSI", "R8", "R9", "R10", "R11"},
	"arm64": {"X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X13", "X14", "X15"},
}

// Len stands among members for the length of a text, a slice or a map.
const Len = "len()"

// Reason is why a value has no form.
type Reason string

// The reasons.
const (
	Outside    Reason = "outside"
	Calls      Reason = "calls"
	Captured   Reason = "captured"
	Computed   Reason = "computed"
	LooksUp    Reason = "looks up"
	Structured Reason = "structured"
	Text       Reason = "text"
	Changed    Reason = "changed"
	Float      Reason = "float"
	Missing    Reason = "missing"
	// Unproven is the reason of Nearest. No table has it.
	Unproven Reason = "unproven"
	// Differs and Unshown are reasons of Table.Without: a program has another type, or nothing in it shows the type.
	Differs Reason = "differs"
	Unshown Reason = "unshown"
	// Inherits is the reason of a pod alone. The call gets the pod of the call around it, on the same goroutine or on
	// the one that started it.
	Inherits Reason = "inherits"
)

// Reasons are all reasons, in words.
var Reasons = map[Reason]probes.Text{
	Outside:    {En: "the step is not a function of the kubelet", Zh: "这一步不是 kubelet 的函数"},
	Calls:      {En: "only a call yields it", Zh: "只有调用函数才能得到它"},
	Captured:   {En: "a variable of the function around this one", Zh: "它是外层函数的变量"},
	Computed:   {En: "worked out of several values", Zh: "它由多个值计算得出"},
	LooksUp:    {En: "in a map, or at a place in a list", Zh: "它在 map 里，或在列表的某个位置"},
	Structured: {En: "a list or a message, no single value", Zh: "它是列表或消息，不是单个值"},
	Text:       {En: "a method makes its text", Zh: "它的文字由方法生成"},
	Changed:    {En: "the function changes the argument before it returns", Zh: "函数返回前会改动这个参数"},
	Missing:    {En: "this version of the kubelet does not have it", Zh: "这个版本的 kubelet 里没有它"},
	Unproven:   {En: "podstep has no table for this version of the kubelet", Zh: "podstep 没有这个版本 kubelet 的表"},
	Differs:    {En: "this kubelet has other types than its version: it is another build", Zh: "这个 kubelet 的类型与它所称的版本不同：它是另一种构建"},
	Unshown:    {En: "nothing in this kubelet shows where it is", Zh: "这个 kubelet 里没有任何信息表明它的位置"},
	Inherits:   {En: "the pod is that of the call around it", Zh: "它的 Pod 就是外层调用的 Pod"},
	Float:      {En: "it is in a floating-point register", Zh: "它在浮点寄存器里"},
}
