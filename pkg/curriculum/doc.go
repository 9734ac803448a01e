// Package curriculum reads labs: folders of data that say what a learner gets,
// does and is graded on (docs/architecture.md, "A lab is data"). It gives their
// texts in each language, grades a step with them, and lints them.
//
// The package is pure. It must not start processes, open sockets, write files
// or read a clock; what it reads is an fs.FS.
//
//	lab.go       Lab and Load; find.go the labs that are compiled in
//	decode.go    strict YAML with places
//	step.go      Step: its rules and words, compiled when they are first used
//	words.go     the words of a step in one language
//	question.go  questions and predictions
//	acts.go      acts: what solutions and starts do; solution.go tells them to people
//	lint.go      what is wrong with a lab; lintacts.go with its solutions
//	skeleton.go  the files of a new lab
package curriculum
