// Without this script the form still works: the browser then shows the JSON by itself.
const form = document.getElementById("try");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const address = `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
  const request = document.getElementById("try-request");
  const answer = document.getElementById("try-answer");
  request.hidden = answer.hidden = false;
  request.firstElementChild.textContent = `GET ${address}`;
  try {
    const response = await fetch(address);
    answer.textContent = `${response.status}\n${JSON.stringify(await response.json(), null, 2)}`;
  } catch (error) {
    answer.textContent = `No answer: ${error.message}`;
  }
});
