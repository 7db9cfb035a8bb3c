// Package wire knows events in the form in which the agent sends and keeps them: encoded agentpb.Event messages. No
// other package knows the bytes of an event.
//
// Decoder makes whole probes.Events of them. For callers that have many events and show few, ReadHeader reads the parts
// of fixed size, Lookup one field, and EncodedFields all fields, without allocating. The agent, which encodes every
// event, appends events with Header.AppendHead, Field.AppendTo and AppendTail.
package wire
