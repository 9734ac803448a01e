// Package web is the live page of a run: one screen that shows the step and its
// checks, the conversation between control plane and Envoy as it grows, what is
// in effect, the hosts, and the traffic (docs/page.md).
//
// The page shows. The one thing that it does is to answer a question; every
// other act belongs in the terminal. It speaks to a browser on this machine
// alone: see auth.go and docs/threat-model.md.
//
// The package folds the journal into a model of bounded size and asks a Lab for
// the rest. It must not start processes, read files of a run, or write to the
// journal; the session does, and owns the port.
//
//	lab.go        what the page needs of a session
//	model.go      the fold; rows.go, traffic.go, hosts.go its parts
//	view.go       the model as the browser gets it, in words; state.go the status
//	page.go       Page: the open pages, and when a step is graded for them
//	stream.go     server-sent events: one reader
//	handler.go    the paths; auth.go who may use them
//	markdown.go   a step's text as HTML
//	static/       page.html, and the script and style that it needs
package web
