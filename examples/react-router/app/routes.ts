import { index, prefix, type RouteConfig, route } from "@react-router/dev/routes";

export default [
  index("routes/home.tsx"),
  ...prefix("api", [
    route("texts", "routes/texts.ts"),
    route("search", "routes/search.ts"),
    route("messages", "routes/messages.ts"),
    route("messages/receive", "routes/receive-message.ts"),
    route("orders", "routes/orders.ts"),
    route("orders/:id", "routes/order.ts"),
    route("workflow", "routes/workflow.ts"),
  ]),
] satisfies RouteConfig;
