// LangGraph JS on a thread: agent.mjs DB ask THREAD TEXT ANSWER makes a turn
// of a model that says ANSWER; with show, history or delete in the place of
// ask it looks or deletes. Prints the messages that the graph has then, as JSON.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const [db, verb, thread, text, answer] = process.argv.slice(2);
const saver = SqliteSaver.fromConnString(db);
const config = { configurable: { thread_id: thread } };
const graph = new StateGraph(MessagesAnnotation)
	.addNode("model", () => ({ messages: [new AIMessage(answer ?? "")] }))
	.addEdge(START, "model")
	.addEdge("model", END)
	.compile({ checkpointer: saver });

if (verb === "ask") await graph.invoke({ messages: [new HumanMessage(text)] }, config);
if (verb === "delete") await saver.deleteThread(thread);
const state = await graph.getState(config);
const history = [];
// Python's rows, which JS cannot read, end its history.
if (verb === "history")
	for await (const step of graph.getStateHistory(config)) history.push((step.values.messages ?? []).length);
console.log(JSON.stringify({
	next: state.next,
	history,
	messages: (state.values.messages ?? []).map((m) => ({
		type: m.getType(),
		id: m.id,
		content: m.content,
		tool_calls: m.tool_calls,
		tool_call_id: m.tool_call_id,
		status: m.status,
	})),
}));
