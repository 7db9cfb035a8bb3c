// Package relay carries one connection of a gRPC client to a server on the
// node, HTTP/2 frame by frame, so that the calls on it can be seen, held back
// and failed without either end knowing of it.
//
// It is no proxy that ends one protocol and speaks another: stream ids, header blocks, settings, pings, windows,
// resets and trailers are the peers' own, end to end. The relay need not know what the two agree on (deadlines,
// sizes, metadata, pushing back), and so cannot get it wrong. It reads along beside the bytes and steps in at one
// place only. If a watcher wants to see a call, its message is kept back until it is whole and, if asked for, until
// it may go on. The call's headers have gone on by then; a gRPC server does not begin a unary call before its
// message is there.
//
// What is kept back takes room in the connection's flow-control window, which
// the client's other calls need. So the client is lent as much, and the server's
// later grants pay it back: see account.
//
// A call that is answered here breaks with the server's header compression: what the server still sends for the
// call is not for the client, yet later blocks may refer to it. From then on the server's header blocks are written
// anew, without compression: see headers.go.
//
// What the relay cannot read it does not break. A connection whose client does not speak HTTP/2 is copied byte by
// byte. So is one on which something unknown turns up, as long as nothing of it is kept back.
package relay
