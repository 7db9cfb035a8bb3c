package relay

// maxKept bounds what a connection keeps of requests, and of answers.
const maxKept = 64 << 20

// account keeps the book of the connection's flow-control windows, and of what is kept back.
//
// With nothing kept back the client may send as much as the runtime takes: grants pass as they are. Bytes that are
// kept back are gone from the client's window but not from the runtime's, so the client is lent as much: granted in
// the runtime's name. When the bytes go on, the client may send more than the runtime takes, until later grants of
// the runtime were withheld as payment. Until then the relay itself must mind the runtime's window. If bytes never
// go on, their loan was a gift and is not paid back.
type account struct {
	window   int64 // bytes that the runtime takes on the connection
	initial  int64 // of a new stream's window
	kept     int64 // request bytes kept back
	debt     int64 // lent to the client and not paid back
	reserved int64 // kept back, or going to be, of messages being gathered
	answers  int64 // bytes of answers being gathered
	starved  bool  // released bytes wait for window
}

func newAccount() account { return account{window: firstWindow, initial: firstWindow} }

func (a *account) entangled() bool { return a.kept > 0 || a.debt > 0 }

// clientWindow returns what the client may send on the connection, as the client sees it.
func (a *account) clientWindow() int64 { return a.window - a.kept + a.debt }

// drop takes n kept bytes out that will not go on. It returns what the client is to be granted for them.
func (a *account) drop(n int64) int64 {
	a.kept -= n
	if a.debt >= n {
		a.debt -= n
		return 0
	}
	n -= a.debt
	a.debt = 0
	return n
}

// lend returns what to grant the client now. A small grant is not worth a frame while the client has much left, and
// a client that has plenty needs nothing.
func (a *account) lend() int64 {
	const little, low = 4 << 10, firstWindow / 4
	if a.kept > maxKept {
		return 0
	}
	n := min(a.kept-a.debt, firstWindow-a.clientWindow())
	if n <= 0 || (n < little && a.clientWindow() > low) {
		return 0
	}
	a.debt += n
	return n
}

// grant books a grant of the runtime, and returns how much of it is passed on. Bytes that are still kept back need
// not be paid for yet.
func (a *account) grant(n int64) int64 {
	a.window += n
	paid := min(n, max(0, a.debt-a.kept))
	a.debt -= paid
	return n - paid
}

// reserve takes room for a message that is going to be kept back.
func (a *account) reserve(n int64) bool {
	if a.reserved+n > maxKept {
		return false
	}
	a.reserved += n
	return true
}
