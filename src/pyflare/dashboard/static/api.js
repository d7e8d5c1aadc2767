// The REST API below this page. Each call gives the `result` of the envelope or throws what the server says.

const BASE = "api";

export async function ask(method, path, body) {
  const request = { method, headers: {} };
  if (body !== undefined) {
    request.headers["content-type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const response = await fetch(BASE + path, request);
  const answer = await response.json();
  if (!answer.success) throw new Error(answer.errors[0].message);
  return answer.result;
}

export const panels = (room) => ask("GET", `/local/panels${room ? `?room=${encodeURIComponent(room)}` : ""}`);

export const act = (room, action, fields) =>
  ask("POST", `/local/panels/${encodeURIComponent(room)}/${encodeURIComponent(action)}`, fields);
