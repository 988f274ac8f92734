package io.holdfast.lock.spring;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.FunctionReference;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.Selection;
import org.springframework.expression.spel.ast.StringLiteral;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.util.StringUtils;

/**
 * The check of an expression in the name of a lock, when the context starts. It finds what can't be
 * evaluated, or would be the same for all calls, as far as the declared types tell.
 */
final class NameExpression {
  static final ParameterNameDiscoverer PARAMETERS = new DefaultParameterNameDiscoverer();

  /** Variables of other languages in plain text. */
  private static final Pattern VARIABLE =
      Pattern.compile("#(?<hash>[A-Za-z_]\\w*)|\\{(?<braces>[A-Za-z_][\\w.]*)}|%(\\d+\\$)?[sd]");

  /** Variables of other languages, if a parameter has the name. */
  private static final Pattern PARAMETER =
      Pattern.compile(":(?<colon>[A-Za-z_]\\w*)|<(?<angle>[A-Za-z_]\\w*)>|\\[(?<square>\\w+)]");

  private final Place place;
  private final String expression;

  private NameExpression(Place place, String expression) {
    this.place = place;
    this.expression = expression;
  }

  /**
   * Checks an expression.
   *
   * @throws InvalidLockedMethodException it has no text, or the same one for all calls
   */
  static void check(Place place, String expression, SpelNode root) {
    NameExpression checked = new NameExpression(place, expression);
    Class<?> type = checked.typeOf(root, false);
    if (!NameText.isPossible(type)) {
      throw checked.invalid(
          "is a %s, which has no text that is the same on every machine"
              .formatted(type.getSimpleName()),
          NameText.REMEDY);
    }
  }

  /**
   * Checks a text.
   *
   * @throws InvalidLockedMethodException it looks like an expression
   */
  static void checkText(Place place, String text) {
    Matcher variable = VARIABLE.matcher(text);
    if (variable.find()) {
      String hash = variable.group("hash");
      String braces = variable.group("braces");
      throw plainText(
          place, variable.group(), hash != null ? hash : braces != null ? braces : "parameter");
    }
    List<String> names = names(place);
    Matcher parameter = PARAMETER.matcher(text);
    while (parameter.find()) {
      String name = parameter.group().replaceAll("\\W", "");
      if (names != null && names.contains(name)) {
        throw plainText(place, parameter.group(), name);
      }
    }
  }

  /** Checks a text in an expression: it is meant as it stands, unless it names a parameter. */
  private void checkLiteral(String text) {
    List<String> names = names(place);
    if (names != null && text.startsWith("#") && names.contains(text.substring(1))) {
      throw plainText(place, "'" + text + "'", text.substring(1));
    }
  }

  private static InvalidLockedMethodException plainText(Place place, String text, String name) {
    return place.invalid(
        "name",
        "'" + text + "' is plain text, so that all calls would have one lock",
        "write #{#" + name + "}");
  }

  /**
   * Returns the type of a node's value, as it is declared; Object if that is not known.
   *
   * @param ofElement whether it is evaluated for each element of a collection
   */
  private Class<?> typeOf(SpelNode node, boolean ofElement) {
    if (node instanceof CompoundExpression) {
      Class<?> type = typeOf(node.getChild(0), ofElement);
      for (int i = 1; i < node.getChildCount(); i++) {
        type = memberType(type, node.getChild(i), ofElement);
      }
      return type;
    }
    if (node instanceof VariableReference) {
      return variableType(node.toStringAST().substring(1), ofElement);
    }
    if (node instanceof PropertyOrFieldReference || node instanceof MethodReference) {
      if (!ofElement) {
        throw invalid(
            "refers to " + node.toStringAST() + " of nothing",
            "write a parameter with its #: #{#" + node.toStringAST() + "}");
      }
    } else if (node instanceof FunctionReference) {
      throw invalid("calls a function that does not exist", "call a method of a parameter");
    } else if (node instanceof BeanReference) {
      throw invalid("refers to a bean", "take the parameters of the method");
    } else if (node instanceof StringLiteral literal) {
      checkLiteral(String.valueOf(literal.getLiteralValue().getValue()));
    }
    checkChildren(node, ofElement || isOfElements(node));
    return Object.class;
  }

  private static boolean isOfElements(SpelNode node) {
    return node instanceof Projection || node instanceof Selection;
  }

  private void checkChildren(SpelNode node, boolean ofElement) {
    for (int i = 0; i < node.getChildCount(); i++) {
      var unused = typeOf(node.getChild(i), ofElement);
    }
  }

  private Class<?> memberType(Class<?> owner, SpelNode member, boolean ofElement) {
    // In map[key], the key is a text.
    checkChildren(member, ofElement || isOfElements(member) || member instanceof Indexer);
    if (member instanceof PropertyOrFieldReference property) {
      return memberType(owner, property.getName(), propertyType(owner, property.getName()));
    }
    if (member instanceof MethodReference method) {
      return memberType(owner, method.getName() + "(...)", methodType(owner, method.getName()));
    }
    return Object.class;
  }

  /** @param type the type of the member, or null if the owner does not have it */
  private Class<?> memberType(Class<?> owner, String member, @Nullable Class<?> type) {
    if (type != null) {
      return type;
    }
    // A value may have more than an abstract type declares. Spring 7 looks into an Optional.
    boolean isConcrete = owner != Object.class
        && owner != Optional.class
        && !Modifier.isAbstract(owner.getModifiers());
    if (isConcrete || owner.isPrimitive() || owner.isArray() || Map.class.isAssignableFrom(owner)) {
      throw invalid(
          "refers to %s, which %s does not have".formatted(member, owner.getSimpleName()),
          "take a property, or call a method, that it has");
    }
    return Object.class;
  }

  private static @Nullable Class<?> propertyType(Class<?> owner, String name) {
    if (owner.isArray()) {
      return name.equals("length") ? int.class : null;
    }
    String suffix = StringUtils.capitalize(name);
    for (String getter : List.of("get" + suffix, "is" + suffix, name)) {
      for (Method method : owner.getMethods()) {
        if (method.getName().equals(getter)
            && method.getParameterCount() == 0
            && !method.isBridge()) {
          return method.getReturnType();
        }
      }
    }
    return Arrays.stream(owner.getFields())
        .filter(field -> field.getName().equals(name))
        .<Class<?>>map(Field::getType)
        .findFirst()
        .orElse(null);
  }

  private static @Nullable Class<?> methodType(Class<?> owner, String name) {
    List<Class<?>> types = Arrays.stream(owner.getMethods())
        .filter(method -> method.getName().equals(name) && !method.isBridge())
        .<Class<?>>map(Method::getReturnType)
        .distinct()
        .toList();
    return types.isEmpty() ? null : types.size() == 1 ? types.get(0) : Object.class;
  }

  private Class<?> variableType(String variable, boolean ofElement) {
    if (variable.equals("this") && ofElement) {
      return Object.class;
    }
    Class<?>[] types = place.method().getParameterTypes();
    if (variable.matches("[pa]\\d{1,3}")
        && Integer.parseInt(variable.substring(1)) < types.length) {
      return types[Integer.parseInt(variable.substring(1))];
    }
    List<String> names = names(place);
    if (names == null) {
      throw invalid(
          "refers to a parameter by its name, and the class has no names of parameters",
          "compile it with -parameters, or write #p0 for the first one");
    }
    if (!names.contains(variable)) {
      throw invalid(
          "refers to #" + variable + ", and the method has no such parameter",
          names.isEmpty()
              ? "choose a name without parameters"
              : "take one of #" + String.join(", #", names));
    }
    return types[names.indexOf(variable)];
  }

  private static @Nullable List<String> names(Place place) {
    @Nullable String @Nullable [] names = PARAMETERS.getParameterNames(place.method());
    return names == null ? null : Arrays.stream(names).map(String::valueOf).toList();
  }

  private InvalidLockedMethodException invalid(String problem, String remedy) {
    return place.invalid("name", "#{" + expression + "} " + problem, remedy);
  }
}
